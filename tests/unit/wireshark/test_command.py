"""``aerolog wireshark``: printed, installed, refused."""

from pathlib import Path

from aerolog.archive.protocol import MESSAGES
from aerolog.tools.main import main
from aerolog.tools.wireshark.dissector_tables import dissector, tables


def run(*arguments):
    return main(["wireshark", *arguments])


def test_it_is_printed(capsys):
    assert run() == 0

    assert capsys.readouterr().out == dissector()


def test_it_is_installed_where_wireshark_looks(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)

    assert run("--install") == 0

    target = tmp_path / ".local/lib/wireshark/plugins/aerolog.lua"
    assert target.read_text() == dissector()
    assert capsys.readouterr().out == f"{target}\n"
    assert [path.name for path in target.parent.iterdir()] == ["aerolog.lua"]


def test_the_older_place_is_taken_where_it_is_in_use(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    folder = tmp_path / "wireshark" / "plugins"
    folder.mkdir(parents=True)

    assert run("--install") == 0
    assert (folder / "aerolog.lua").exists()


def test_a_folder_that_cannot_be_is_an_error_in_a_line(tmp_path, capsys):
    (tmp_path / "file").write_text("")

    assert run("--install", "--folder", str(tmp_path / "file" / "plugins")) == 1

    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "file" in err


def test_a_folder_without_install_is_a_wrong_usage(tmp_path, capsys):
    assert run("--folder", str(tmp_path)) == 2
    assert "--install" in capsys.readouterr().err
    assert list(Path(tmp_path).iterdir()) == []


def test_the_tables_name_every_message_between_processes():
    text = tables()

    for template_id, message in MESSAGES.items():
        is_stored = message.__name__ in {"CatalogHeader", "RecordingDescriptorHeader"}
        assert (f'[{template_id}] = {{ name = "{message.__name__}"' in text) is not is_stored
