# The image of every service in docker-compose.yml: the wheel, its extras, and Java for Spark.
#
#   docker build -t aerolog .

FROM python:3.13-slim AS wheel
RUN apt-get update \
 && apt-get install -y --no-install-recommends gcc libc6-dev \
 && rm -rf /var/lib/apt/lists/*
COPY . /src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels /src

FROM python:3.13-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends openjdk-21-jre-headless procps \
 && rm -rf /var/lib/apt/lists/*
COPY --from=wheel /wheels /wheels
RUN pip install --no-cache-dir "$(echo /wheels/aerolog-*.whl)[cli,postgres,decoders,duckdb,pandas,spark]" \
 && rm -r /wheels
RUN useradd --create-home --uid 1000 aerolog \
 && install -d -o aerolog -g aerolog /data
# Spark's programs look for their home and for Python beside themselves.
ENV PYSPARK_PYTHON=python SPARK_NO_DAEMONIZE=1
USER aerolog
WORKDIR /home/aerolog
VOLUME /data
CMD ["aerolog", "--help"]
