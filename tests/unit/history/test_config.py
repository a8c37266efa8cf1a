"""What a user can choose."""

from pathlib import Path

import pytest

from history_service.config import read_config
from ranktrail_serving.errors import AddressRefused
from ranktrail_serving.listener import TcpAddress, UnixAddress


def test_arguments_come_before_the_environment_and_that_before_the_platform() -> None:
    environment = {"RANKTRAIL_HOME": "/srv/home"}
    assert read_config(["--data-dir", "/srv/given"], environment).data_dir == Path("/srv/given")
    assert read_config([], environment).data_dir == Path("/srv/home")
    assert read_config([], {}).data_dir.name == "ranktrail"


def test_the_default_address_is_a_socket_in_the_data_directory() -> None:
    config = read_config(["--data-dir", "/srv/d"], {})
    assert config.address == UnixAddress(Path("/srv/d/run/history.sock"))
    assert read_config(["--address", "127.0.0.1:4000"], {}).address == TcpAddress("127.0.0.1", 4_000)


@pytest.mark.parametrize("address", ["0.0.0.0:80", "192.168.1.2:80", "example.org:80", "[::]:80"])
def test_an_address_that_others_reach_needs_tls(address: str) -> None:
    with pytest.raises(AddressRefused, match="needs TLS"):
        read_config(["--address", address], {})


def test_a_socket_path_that_is_too_long_is_refused_with_what_to_do() -> None:
    with pytest.raises(AddressRefused, match="shorter data directory"):
        read_config(["--data-dir", "/" + "d" * 107], {})


@pytest.mark.parametrize("seconds", ["-1", "nan", "inf", "soon", "86401"])
def test_a_grace_that_is_no_time_is_a_usage_error(seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        read_config(["--interrupted-grace", seconds], {})
    assert stopped.value.code == 2
    assert "not a number of seconds" in capsys.readouterr().err


def test_500_runs_of_a_project_are_kept_unless_another_number_is_given() -> None:
    assert read_config([], {}).retain_runs == 500
    assert read_config(["--retain-runs", "7"], {}).retain_runs == 7


@pytest.mark.parametrize("count", ["0", "-1", "1.5", "many", "٣", "1000000001"])
def test_a_number_of_runs_that_is_none_is_a_usage_error(count: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        read_config(["--retain-runs", count], {})
    assert stopped.value.code == 2
    assert "not a number of Runs" in capsys.readouterr().err


def test_help_shows_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        read_config(["--help"], {})
    assert "python -m history_service --data-dir" in capsys.readouterr().out
