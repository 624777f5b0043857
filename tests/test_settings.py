import subprocess
import sys
from ipaddress import ip_network
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer import __version__
from gossamer.settings.settings import (
    MASK,
    Money,
    SettingError,
    Settings,
    declarations,
    flag,
    markdown_table,
    render,
    variable,
)
from gossamer.settings.values import UNITS, Rate, per_hour, rate

ROOT = Path(__file__).parents[1]


def refusal(environ: dict[str, str] | None = None, **flags: object) -> str:
    with pytest.raises(SettingError) as caught:
        Settings.load(environ or {}, flags=flags)
    message = str(caught.value)
    assert "\n" not in message
    return message


def dotenv(folder: Path, text: str) -> Path:
    file = folder / ".env"
    file.write_text(text, "utf-8")
    return file


def test_every_setting_has_a_default_and_help() -> None:
    settings = Settings.load({"HOME": "/home/ada"})
    assert settings.host == "127.0.0.1"
    assert settings.port == 8080
    assert settings.public_url == "http://127.0.0.1:8080"
    assert settings.data_dir == Path("/home/ada/.local/share/gossamer")
    assert settings.database_url == "sqlite:////home/ada/.local/share/gossamer/gossamer.db"
    assert settings.blobs_url == "file:///home/ada/.local/share/gossamer/blobs"
    assert settings.redis_url == ""
    assert settings.egress_ports == (80, 443, 8080, 8443)
    assert settings.network == "base-sepolia"
    assert settings.limit_anonymous_post == Rate(60, 3600)
    assert set(settings.sources.values()) == {"default"}
    assert all(line.about for line in declarations().values())


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:8080", "http://[::1]:1", "http://10.1.2.3", "http://localhost", "http://web.test"],
)
def test_a_private_address_is_no_contact(url: str) -> None:
    settings = Settings.load({"GOSSAMER_PUBLIC_URL": url})
    assert (settings.user_agent, settings.names_contact) == (f"Gossamer/{__version__}", False)


def test_sites_that_are_visited_learn_whom_to_complain_to() -> None:
    settings = Settings.load({"GOSSAMER_PUBLIC_URL": "https://web.example.com"})
    assert settings.user_agent == f"Gossamer/{__version__} (+https://web.example.com)"
    assert settings.names_contact
    assert Settings.load({"GOSSAMER_USER_AGENT": "Bot (ada@example.com)"}).names_contact


def test_the_settings_page_holds_the_table() -> None:
    assert markdown_table() in (ROOT / "docs" / "settings.md").read_text("utf-8")


def test_flags_go_before_environment_before_file_before_default(tmp_path: Path) -> None:
    file = dotenv(tmp_path, "GOSSAMER_HOST=file\nGOSSAMER_PORT=1\nGOSSAMER_LOG_LEVEL=error\n")
    environ = {"GOSSAMER_HOST": "environment", "GOSSAMER_PORT": "2"}
    settings = Settings.load(environ, file, {"host": "flag", "port": None})
    assert (settings.host, settings.port, settings.log_level) == ("flag", 2, "error")
    assert settings.sources["host"] == "--host on the command line"
    assert settings.sources["port"] == "GOSSAMER_PORT in the environment"
    assert settings.sources["log_level"] == f"GOSSAMER_LOG_LEVEL in {file} line 3"
    assert settings.sources["network"] == "default"


def test_an_empty_value_counts_as_not_set(tmp_path: Path) -> None:
    file = dotenv(tmp_path, "GOSSAMER_PORT=9\nGOSSAMER_HOST=\n")
    settings = Settings.load({"GOSSAMER_PORT": "", "GOSSAMER_REDIS_URL": ""}, file, {"redis_url": ""})
    assert (settings.port, settings.host, settings.redis_url) == (9, "127.0.0.1", "")


@pytest.mark.parametrize(
    ("alias", "text", "name", "value"),
    [
        ("RATE_LIMIT_PER_HOUR", "7", "limit_anonymous_post", Rate(7, 3600)),
        ("IDEMPOTENCY_TTL_SECONDS", "5", "idempotency_ttl_seconds", 5),
        ("WALLET_ADDRESS", "0x" + "aB" * 20, "wallet_address", "0x" + "aB" * 20),
        ("NETWORK", "base", "network", "base"),
        ("WORKER_ID", "2", "worker_id", "2"),
        ("ANTHROPIC_API_KEY", "sk-ant-x", "anthropic_api_key", "sk-ant-x"),
        ("CDP_API_KEY_ID", "organizations/a/apiKeys/b", "cdp_api_key_id", "organizations/a/apiKeys/b"),
        ("CDP_API_KEY_SECRET", "c2VjcmV0", "cdp_api_key_secret", "c2VjcmV0"),
        ("CDP_FACILITATOR_URL", "https://a.example/f", "cdp_facilitator_url", "https://a.example/f"),
        ("PAYAI_FACILITATOR_URL", "https://b.example", "payai_facilitator_url", "https://b.example"),
    ],
)
def test_unprefixed_names_are_aliases(alias: str, text: str, name: str, value: object) -> None:
    settings = Settings.load({alias: text})
    assert getattr(settings, name) == value
    assert settings.sources[name] == f"{alias} in the environment"


def test_the_prefixed_name_wins_where_both_agree() -> None:
    settings = Settings.load({"RATE_LIMIT_PER_HOUR": "90", "GOSSAMER_LIMIT_ANONYMOUS_POST": "90/3600"})
    assert settings.limit_anonymous_post == Rate(90, 3600)
    assert settings.sources["limit_anonymous_post"].startswith("GOSSAMER_")


def test_two_names_that_disagree_stop_the_start(tmp_path: Path) -> None:
    message = refusal({"NETWORK": "base", "GOSSAMER_NETWORK": "base-sepolia"})
    assert "NETWORK='base' in the environment" in message
    assert "GOSSAMER_NETWORK='base-sepolia' in the environment" in message
    file = dotenv(tmp_path, "WORKER_ID=a")
    with pytest.raises(SettingError, match="disagree"):
        Settings.load({"GOSSAMER_WORKER_ID": "b"}, file)
    secrets = refusal(
        {"BRAVE_API_KEY": "first-secret-of-all", "GOSSAMER_BRAVE_API_KEY": "second-secret-of-all"}
    )
    assert "disagree" in secrets
    assert "-secret-of-all" not in secrets


@pytest.mark.parametrize(
    ("name", "text", "parts"),
    [
        ("port", "80a", ("port:", "GOSSAMER_PORT='80a'", "in the environment", "from 0 to 65535")),
        ("port", "65536", ("from 0 to 65535",)),
        ("network", "base-seplia", ("one of base, base-sepolia", "did you mean 'base-sepolia'?")),
        ("log_level", "warn", ("did you mean 'warning'?",)),
        ("access_log", "maybe", ("true or false",)),
        ("price_search", "0", ("dollars", "at least $0.000001")),
        ("price_search", "$0.0000001", ("at most six decimals",)),
        ("price_search", "cheap", ("such as $0.005",)),
        ("cache_discount", "70", ("from 0 to 1",)),
        ("egress_allow", "10.0.0.1/8", ("did you mean '10.0.0.0/8'?",)),
        ("egress_allow", "example.com", ("a network such as",)),
        ("egress_ports", "80,http", ("from 1 to 65535", "commas")),
        ("public_url", "gossamer.example", ("did you mean 'https://gossamer.example'?",)),
        (
            "public_url",
            "https://gossamer.example/",
            ("trailing slash", "did you mean 'https://gossamer.example'?"),
        ),
        ("public_url", "ftp://gossamer.example", ("http:// or https://",)),
        ("public_url", "https://gossamer.example/?a", ("without user, query and fragment",)),
        ("public_url", "https://a\nb", ("absolute URL",)),
        ("cors_origins", "https://app.example/path", ("an origin",)),
        ("database_url", "postgress://u@h/db", ("sqlite://", "did you mean 'postgres")),
        ("redis_url", "localhost:6379", ("redis://",)),
        ("limit_user", "100", ("such as 60/hour",)),
        ("limit_user", "0/hour", ("such as 60/hour",)),
        ("limit_user", "5/fortnight", ("such as 60/hour",)),
        ("request_deadline", "soon", ("seconds from 1 to 3600",)),
        ("wallet_address", "0x12", ("40 hexadecimal digits",)),
        ("wallet_svm", "0OIl", ("base58",)),
        ("worker_id", "a b", ("letters, digits",)),
    ],
)
def test_a_wrong_value_is_one_line_that_helps(name: str, text: str, parts: tuple[str, ...]) -> None:
    message = refusal({variable(name): text})
    assert message.startswith(f"{name}: ")
    for part in parts:
        assert part in message


def test_a_wrong_value_is_named_with_its_place(tmp_path: Path) -> None:
    assert "--port='x' on the command line" in refusal(port="x")
    assert "RATE_LIMIT_PER_HOUR='many' in the environment" in refusal({"RATE_LIMIT_PER_HOUR": "many"})
    file = dotenv(tmp_path, "# a comment\n\nGOSSAMER_PORT=x\n")
    with pytest.raises(SettingError, match=r"\.env line 3"):
        Settings.load({}, file)


def test_a_wrong_secret_is_not_shown() -> None:
    assert "hunter2" not in refusal({"GOSSAMER_BOOTSTRAP_KEY": "hunter2"})
    assert "hunter2" not in refusal({"GOSSAMER_DATABASE_URL": "mysql://ada:hunter2@db/x"})
    assert "hunter2" not in refusal({"GOSSAMER_DATABASE_URL": "mysql://ada:p/hunter2@db/x"})
    assert "hunter2" not in refusal({"GOSSAMER_REDIS_URL": "http://:hunter2@db/x"})


def test_an_unknown_variable_stops_the_start(tmp_path: Path) -> None:
    assert refusal({"GOSSAMER_PROT": "80"}) == "GOSSAMER_PROT is not a setting; did you mean GOSSAMER_PORT?"
    assert "gossamer config" in refusal({"GOSSAMER_QQQQQQQQQQ": "1"})
    assert "GOSSAMER_PROT" in refusal(prot=80)
    with pytest.raises(SettingError, match="GOSSAMER_HOSTS"):
        Settings.load({}, dotenv(tmp_path, "GOSSAMER_HOSTS=x"))


def test_variables_of_tests_benchmarks_and_kubernetes_are_not_ours() -> None:
    Settings.load({"GOSSAMER_TEST_X": "1", "GOSSAMER_BENCH_X": "1", "GOSSAMER_KEY": "1", "UNRELATED": "1"})
    linked = {
        "GOSSAMER_SERVICE_HOST": "10.0.0.1",
        "GOSSAMER_SERVICE_PORT": "8080",
        "GOSSAMER_SERVICE_PORT_HTTP": "8080",
        "GOSSAMER_PORT": "tcp://10.0.0.1:8080",
        "GOSSAMER_PORT_8080_TCP": "tcp://10.0.0.1:8080",
        "GOSSAMER_PORT_8080_TCP_ADDR": "10.0.0.1",
        "GOSSAMER_REDIS_PORT": "tcp://10.0.0.2:6379",
        "GOSSAMER_REDIS_SERVICE_HOST": "10.0.0.2",
    }
    assert Settings.load(linked).port == 8080


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("0.0.0.0", "http://localhost:81"),
        ("::", "http://localhost:81"),
        ("::1", "http://[::1]:81"),
        ("gossamer.example", "http://gossamer.example:81"),
    ],
)
def test_the_public_url_follows_host_and_port(host: str, url: str) -> None:
    assert Settings.load({}, flags={"host": host, "port": 81}).public_url == url


def test_the_data_folder(tmp_path: Path) -> None:
    assert Settings.load({"XDG_DATA_HOME": "/x", "HOME": "/h"}).data_dir == Path("/x/gossamer")
    assert Settings.load({"XDG_DATA_HOME": "x", "HOME": "/h"}).data_dir == Path("/h/.local/share/gossamer")
    assert Settings.load({}).data_dir == Path.cwd() / "data"
    settings = Settings.load({}, flags={"data_dir": tmp_path / "with space"})
    assert settings.database_url == f"sqlite:///{tmp_path}/with space/gossamer.db"
    assert settings.blobs_url.endswith("/with%20space/blobs")
    assert Settings.load({}, flags={"data_dir": "relative"}).data_dir == Path.cwd() / "relative"


def test_values_have_their_types() -> None:
    settings = Settings.load(
        {
            "GOSSAMER_EGRESS_ALLOW": "127.0.0.0/8, ::1",
            "GOSSAMER_EGRESS_PORTS": "*",
            "GOSSAMER_TRUSTED_PROXIES": "10.0.0.0/8",
            "GOSSAMER_CORS_ORIGINS": "https://a.example,http://localhost:3000",
            "GOSSAMER_ACCESS_LOG": "off",
            "GOSSAMER_MAX_REQUEST_BYTES": "2_000_000",
            "GOSSAMER_REQUEST_DEADLINE": "2.5",
            "GOSSAMER_DATABASE_URL": "postgres://db/x",
            "GOSSAMER_LOG_LEVEL": "DEBUG",
        }
    )
    assert settings.egress_allow == (ip_network("127.0.0.0/8"), ip_network("::1/128"))
    assert settings.egress_ports == "*"
    assert settings.trusted_proxies == (ip_network("10.0.0.0/8"),)
    assert settings.cors_origins == ("https://a.example", "http://localhost:3000")
    assert settings.access_log is False
    assert settings.max_request_bytes == 2_000_000
    assert settings.request_deadline == 2.5
    assert settings.database_url == "postgresql://db/x"
    assert settings.log_level == "debug"
    assert Settings.load({"GOSSAMER_TRUSTED_PROXIES": "*"}).trusted_proxies == "*"


@pytest.mark.parametrize(
    ("text", "millionths", "shown"),
    [
        ("$0.005", 5_000, "$0.005"),
        ("0.000001", 1, "$0.000001"),
        ("$2", 2_000_000, "$2"),
        ("10.50", 10_500_000, "$10.5"),
    ],
)
def test_prices_are_whole_millionths_of_a_dollar(text: str, millionths: int, shown: str) -> None:
    settings = Settings.load({"GOSSAMER_PRICE_SEARCH": text})
    assert settings.price_search == Money(millionths)
    assert render(settings.price_search) == shown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("60/3600", Rate(60, 3600)),
        ("60/hour", Rate(60, 3600)),
        ("100/min", Rate(100, 60)),
        ("1000/day", Rate(1000, 86400)),
        ("5/second", Rate(5, 1)),
    ],
)
def test_rates(text: str, expected: Rate) -> None:
    assert rate(text) == expected


@given(
    st.integers(1, 999_999_999), st.one_of(st.sampled_from(list(UNITS.values())), st.integers(1, 31 * 86400))
)
def test_a_rendered_rate_parses_back(limit: int, seconds: int) -> None:
    assert rate(str(Rate(limit, seconds))) == Rate(limit, seconds)
    assert per_hour(str(limit)) == Rate(limit, 3600)


def test_what_is_rendered_loads_again() -> None:
    settings = Settings.load(
        {"HOME": "/h", "GOSSAMER_EGRESS_ALLOW": "10.0.0.0/8,::1", "GOSSAMER_REQUEST_DEADLINE": "1.5"}
    )
    again = Settings.load({}, flags={name: getattr(settings, name) for name in declarations()})
    assert again == settings
    as_text = Settings.load({variable(name): render(getattr(settings, name)) for name in declarations()})
    assert as_text == settings


def test_secrets_and_passwords_are_masked_wherever_settings_are_shown() -> None:
    settings = Settings.load(
        {
            "CDP_API_KEY_SECRET": "hunter2-hunter2-hunter2",
            "GOSSAMER_BOOTSTRAP_KEY": "sk_live_hunter2hunter2hunter2",
            "ANTHROPIC_API_KEY": "hunter2",
            "GOSSAMER_DATABASE_URL": "postgresql://ada:hunter2@db.example/x?sslmode=on&password=hunter2",
            "GOSSAMER_REDIS_URL": "redis://:hunter2@cache.example/0",
            "GOSSAMER_BLOBS_URL": "s3://key:hunter2@store.example/bucket?region=x",
        }
    )
    shown = {name: value for name, value, _, _ in settings.describe()}
    assert shown["cdp_api_key_secret"] == MASK
    assert shown["database_url"] == f"postgresql://{MASK}@db.example/x?sslmode=on&password={MASK}"
    assert shown["blobs_url"] == f"s3://{MASK}@store.example/bucket?region=x"
    assert shown["wallet_address"] == ""
    assert list(shown) == list(declarations())
    assert "hunter2" not in repr(settings) + str(settings.describe())


def test_dotenv_syntax(tmp_path: Path) -> None:
    text = """\ufeff# comment
export GOSSAMER_HOST='quoted'   # trailing comment
GOSSAMER_CHROMIUM = "/opt/my \\"chromium\\"/bin"
  GOSSAMER_WORKER_ID=plain # comment
GOSSAMER_REDIS_URL= # nothing here
GOSSAMER_UPGRADE_URL=https://a.example/#tiers
SOMETHING_ELSE='kept apart'
GOSSAMER_PORT=1
GOSSAMER_PORT=2
"""
    settings = Settings.load({}, dotenv(tmp_path, text))
    assert settings.host == "quoted"
    assert settings.chromium == '/opt/my "chromium"/bin'
    assert settings.worker_id == "plain"
    assert settings.redis_url == ""
    assert settings.upgrade_url == "https://a.example/#tiers"
    assert settings.port == 2


@pytest.mark.parametrize(
    "line", ["just text", "1A=x", "GOSSAMER_HOST='open hunter2", 'GOSSAMER_HOST="a" hunter2']
)
def test_a_broken_dotenv_line_is_named_but_not_shown(tmp_path: Path, line: str) -> None:
    with pytest.raises(SettingError, match=r"\.env line 2: ") as caught:
        Settings.load({}, dotenv(tmp_path, f"A=b\n{line}\n"))
    assert "hunter2" not in str(caught.value)


def test_a_dotenv_that_cannot_be_read(tmp_path: Path) -> None:
    assert Settings.load({}, tmp_path / "missing").port == 8080
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for unreadable in (tmp_path, tmp_path / "binary"):
        with pytest.raises(SettingError, match="cannot be read"):
            Settings.load({}, unreadable)


def test_flags_are_spelt_with_dashes() -> None:
    assert flag("public_url") == "--public-url"


def test_settings_import_no_framework() -> None:
    heavy = "pydantic msgspec sqlalchemy starlette asyncio logging"
    code = f"import sys, gossamer.settings; print([name for name in {heavy.split()} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
