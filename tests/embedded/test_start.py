"""Starting, stopping and starting again: data, address, password, settings, refusals."""

import socket
import stat
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from holdfast.embedded import Arrival, Binaries, EmbeddedError, cluster, find_binaries, start, throwaway
from holdfast.embedded.folder import Home, choose_folder, prepare_folder
from holdfast.embedded.ports import PORTS, choose_port, is_free
from holdfast.embedded.throwaway import choose_place

Postmaster = Callable[[Path], cluster.Postmaster | None]


def setting(url: str, name: str) -> str:
    with psycopg.connect(url) as connection:
        row = connection.execute("select current_setting(%s)", [name]).fetchone()
    assert row is not None
    return str(row[0])


def test_a_restart_keeps_the_data_and_the_url(new_folder: Path, postmaster: Postmaster) -> None:
    first = start(new_folder)
    with psycopg.connect(first.url, autocommit=True) as connection:
        connection.execute("create table kept as select 42 as answer")
        # Still connected: the port then lingers in TIME_WAIT, which must not cost us the URL.
        first.stop()
    stopped = postmaster(first.folder) is None

    with start(new_folder) as second, psycopg.connect(second.url) as connection:
        answer = connection.execute("select answer from kept").fetchone()

    assert stopped
    assert answer == (42,)
    assert (first.url, first.arrival) == (second.url, Arrival.FIRST_START)
    assert second.arrival is Arrival.RESTART


def test_fsync_is_on_unless_the_server_is_to_be_thrown_away(folder: Path) -> None:
    with start(folder) as kept, throwaway() as thrown_away:
        assert [setting(kept.url, name) for name in cluster.FAST_AND_LOSABLE] == ["on"] * 3
        assert [setting(thrown_away.url, name) for name in cluster.FAST_AND_LOSABLE] == ["off"] * 3


def test_a_throwaway_server_leaves_nothing_behind(postmaster: Postmaster) -> None:
    with throwaway() as server:
        running = postmaster(server.folder)

    assert running is not None
    assert not cluster._is_server(running.pid, Home(server.folder))
    assert not server.folder.parent.exists()


def test_a_throwaway_server_lives_in_memory_where_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TMPDIR", raising=False)

    assert choose_place(ram_disk=tmp_path, room=1) == tmp_path
    assert choose_place(ram_disk=tmp_path, room=2**60) != tmp_path
    assert choose_place(ram_disk=tmp_path / "none", room=1) != tmp_path / "none"


def test_a_place_that_was_named_is_preferred_to_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", "/tmp")

    assert choose_place(ram_disk=tmp_path, room=1) != tmp_path


def test_a_wrong_password_is_refused(folder: Path) -> None:
    with start(folder, durable=False) as server:
        wrong = f"postgresql://postgres:wrong@127.0.0.1:{server.port}/postgres"

        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(wrong)


def test_it_listens_on_loopback_only_and_has_no_socket_file(folder: Path) -> None:
    with start(folder, durable=False) as server:
        assert setting(server.url, "listen_addresses") == "127.0.0.1"
        assert not setting(server.url, "unix_socket_directories")


def test_the_password_can_be_read_by_nobody_else(folder: Path) -> None:
    with start(folder, durable=False) as server:
        mode = stat.S_IMODE((server.folder / "password").stat().st_mode)

    assert mode == 0o600


def test_the_banner_and_the_repr_tell_no_password(folder: Path) -> None:
    with start(folder, durable=False) as server:
        password = (server.folder / "password").read_text()

    assert password in server.url
    assert password not in server.describe() + repr(server)
    assert server.describe().startswith(f"PostgreSQL {server.version}  {server.folder}  (embedded, restart, ")


def test_another_database_of_the_same_server_has_a_url(folder: Path) -> None:
    with start(folder, durable=False) as server, psycopg.connect(server.url_for("template1")) as connection:
        assert connection.info.dbname == "template1"


def test_settings_of_the_caller_are_used(folder: Path) -> None:
    with start(
        folder, durable=False, settings={"max_connections": "17", "cluster_name": "it's mine"}
    ) as server:
        assert setting(server.url, "max_connections") == "17"
        assert setting(server.url, "cluster_name") == "it's mine"


def test_a_setting_postgresql_refuses_is_told_in_its_own_words(folder: Path, postmaster: Postmaster) -> None:
    with pytest.raises(EmbeddedError, match='unrecognized configuration parameter "no_such_thing"'):
        start(folder, durable=False, settings={"no_such_thing": "1"})

    with start(folder, durable=False) as server:
        assert postmaster(server.folder) is not None


def test_letters_of_every_alphabet_have_upper_and_lower_case(folder: Path) -> None:
    with start(folder, durable=False) as server, psycopg.connect(server.url) as connection:
        if connection.info.server_version < 170_000:
            pytest.skip(f"NOT RUN: PostgreSQL {server.version} has no built-in Unicode locale")

        assert connection.execute("select lower('ÉÑΣ')").fetchone() == ("éñσ",)


def test_a_taken_port_is_given_up_for_a_free_one(folder: Path) -> None:
    first = start(folder, durable=False)
    first.stop()
    with socket.create_server(("127.0.0.1", first.port)), start(folder, durable=False) as second:
        assert second.port != first.port
        assert setting(second.url, "port") == str(second.port)


def test_a_start_that_lost_its_port_to_another_is_tried_again() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        assert cluster._is_passing(port, "could not bind")
    assert not cluster._is_passing(port, "invalid value for parameter")


def test_a_port_whose_last_connections_linger_is_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
        with socket.create_connection(address) as client:
            served, _ = listener.accept()
            # Who closes first keeps the connection in TIME_WAIT, as a server that is stopped does.
            served.close()
            client.recv(1)

    assert is_free(address[1])


def test_a_port_file_that_says_nothing_useful_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "port").write_text("torn")

    port = choose_port(tmp_path / "port")

    assert port in PORTS
    assert is_free(port)


def test_existing_data_decides_the_version(new_folder: Path, postgresql_15: Binaries) -> None:
    start(new_folder, binaries=postgresql_15, durable=False).stop()

    with start(new_folder, durable=False) as server:
        assert server.version == postgresql_15.version
        assert setting(server.url, "server_version_num").startswith("15")


def test_binaries_of_another_major_version_are_refused(folder: Path, postgresql_15: Binaries) -> None:
    newest = find_binaries()
    if newest.major == postgresql_15.major:
        pytest.skip("NOT RUN: only PostgreSQL 15 is here")

    with pytest.raises(EmbeddedError) as refusal:
        start(folder, binaries=postgresql_15, durable=False)

    assert f"was made by PostgreSQL {newest.major}" in str(refusal.value)
    assert f"offered: {postgresql_15.version}" in str(refusal.value)


def test_data_of_a_version_that_is_not_here_is_refused_with_the_fixes(new_folder: Path) -> None:
    used = choose_folder(new_folder)
    prepare_folder(used)
    (used / "14" / "data").mkdir(parents=True)
    (used / "14" / "data" / "PG_VERSION").write_text("14\n")

    with pytest.raises(EmbeddedError) as refusal:
        start(new_folder)

    for words in (
        "made by PostgreSQL 14",
        f"{find_binaries().version} (",
        "Install PostgreSQL 14",
        "move ",
        "DATABASE_URL",
    ):
        assert words in str(refusal.value)


def test_somebody_elses_data_folder_is_not_taken_over(new_folder: Path) -> None:
    new_folder.mkdir(parents=True)
    (new_folder / "PG_VERSION").write_text("18\n")

    with pytest.raises(EmbeddedError, match="is itself a PostgreSQL data folder"):
        start(new_folder)


def test_a_lost_password_is_told_and_leaves_no_server(spoilable_folder: Path, postmaster: Postmaster) -> None:
    server = start(spoilable_folder, durable=False)
    server.stop()
    (server.folder / "password").unlink()

    with pytest.raises(EmbeddedError, match="password is gone"):
        start(spoilable_folder, durable=False)
    assert postmaster(server.folder) is None


def test_a_file_in_the_way_is_told(new_folder: Path) -> None:
    used = choose_folder(new_folder)
    used.parent.mkdir(parents=True, exist_ok=True)
    used.touch()

    with pytest.raises(EmbeddedError, match="cannot be made"):
        start(new_folder)
    used.unlink()
