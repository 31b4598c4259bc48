"""Where properties come from, and which source wins (spec configuration 1 and 3)."""

from pathlib import Path

import pytest

from aerolog.transport.config import Properties
from aerolog.transport.errors import ConfigurationError


def text_of(properties: Properties, name: str, env: str | None = None) -> str | None:
    raw = properties.get(name, env)
    return None if raw is None else raw.text


def test_the_environment_is_found_by_the_property_name() -> None:
    properties = Properties.from_environment(
        {"AERON_SOCKET_SO_RCVBUF": "1m", "HOME": "/x", "AERON_DIR": ""}
    )

    assert text_of(properties, "aeron.socket.so_rcvbuf") == "1m"
    assert text_of(properties, "aeron.dir") is None
    assert len(properties) == 1


def test_mixed_case_names_have_upper_case_variables() -> None:
    properties = Properties.from_environment({"AERON_UNICAST_FLOWCONTROL_SUPPLIER": "x"})

    assert text_of(properties, "aeron.unicast.FlowControl.supplier") == "x"


def test_an_irregular_variable_is_found_by_its_own_name() -> None:
    irregular = "AERON_DRIVER_NAME_RESOLVER_THRESHOLD"
    properties = Properties.from_environment({irregular: "7s"})

    assert text_of(properties, "aeron.name.resolver.threshold") is None
    assert text_of(properties, "aeron.name.resolver.threshold", irregular) == "7s"


def test_options_and_files_apply_in_their_order_over_the_environment(tmp_path: Path) -> None:
    one, two = tmp_path / "one.properties", tmp_path / "two.properties"
    one.write_text("aeron.a=file1\naeron.b=file1\naeron.c=file1\n")
    two.write_text("aeron.c=file2\n")

    properties = Properties.from_command_line(
        ["-Daeron.a=option1", str(one), "-Daeron.b=option2", str(two)],
        {"AERON_A": "env", "AERON_D": "env"},
    )

    assert text_of(properties, "aeron.a") == "file1"
    assert text_of(properties, "aeron.b") == "option2"
    assert text_of(properties, "aeron.c") == "file2"
    assert text_of(properties, "aeron.d") == "env"


def test_an_option_is_stronger_than_the_environment_under_either_name() -> None:
    irregular = "AERON_DRIVER_NAME_RESOLVER_THRESHOLD"
    name = "aeron.name.resolver.threshold"

    by_property = Properties.from_command_line([f"-D{name}=1s"], {irregular: "7s"})
    by_variable = Properties.from_command_line(
        [f"-D{name}=1s", "-Daeron.driver.name.resolver.threshold=2s"], {}
    )

    assert text_of(by_property, name, irregular) == "1s"
    assert text_of(by_variable, name, irregular) == "2s"


def test_a_value_knows_where_it_stood(tmp_path: Path) -> None:
    file = tmp_path / "p.properties"
    file.write_text("# comment\naeron.a=1\n")
    properties = Properties.from_command_line(["-Daeron.b=2", str(file)], {"AERON_C": "3"})

    sources = {raw.text: (raw.source, raw.from_environment) for _, raw in properties}
    assert sources == {
        "1": (f"{file}:2", False),
        "2": ("-Daeron.b", False),
        "3": ("environment AERON_C", True),
    }


@pytest.mark.parametrize("form", ["file:{}", "file://{}", "{}"])
def test_a_file_is_given_by_path_or_url(tmp_path: Path, form: str) -> None:
    file = tmp_path / "p.properties"
    file.write_bytes(b"aeron.a=caf\xe9\n")
    properties = Properties()

    properties.load(form.format(file))

    assert text_of(properties, "aeron.a") == "caf\xe9"


def test_a_file_that_cannot_be_read_is_refused_by_name(tmp_path: Path) -> None:
    missing = tmp_path / "none.properties"

    with pytest.raises(ConfigurationError, match=r"loading properties from .*none\.properties: No"):
        Properties.from_command_line([str(missing)], {})


def test_a_file_without_end_is_not_read_whole(tmp_path: Path) -> None:
    long = tmp_path / "long.properties"
    with long.open("wb") as file:
        file.truncate((1 << 20) + 1)

    with pytest.raises(ConfigurationError, match="longer than 1 MiB"):
        Properties().load(long)


@pytest.mark.parametrize("argument", ["-Dfoo", "-D", "-D=x", "-D#a=b", "-Da=b\nc=d", "-Da b"])
def test_a_malformed_definition_is_refused(argument: str) -> None:
    with pytest.raises(ConfigurationError, match="malformed define"):
        Properties.from_command_line([argument], {})


def test_a_definition_may_have_a_colon_and_an_empty_value() -> None:
    properties = Properties.from_command_line(["-Daeron.a:x=y", "-Daeron.b="], {})

    assert text_of(properties, "aeron.a") == "x=y"
    assert text_of(properties, "aeron.b") == ""


def test_another_option_is_refused_by_name() -> None:
    with pytest.raises(ConfigurationError, match="unknown option '--dir'"):
        Properties.from_command_line(["--dir"], {})
