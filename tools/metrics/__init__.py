"""Metrics of drivers, archives and SQL catalogs, for Prometheus and OpenTelemetry.

``families`` names them all; sources read them through the views of ``tools.views``; an
``Exporter`` puts them together, and ``prometheus`` and ``otlp`` hand them out.
"""
