use clap::error::ErrorKind;

use super::*;

fn parse(line: &str) -> Result<Command, clap::Error> {
    Arguments::try_parse_from(line.split_whitespace()).map(Arguments::into_command)
}

fn served(line: &str) -> ServeArguments {
    match parse(line) {
        Ok(Command::Serve(arguments)) => arguments,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn the_command_tree_has_no_contradictions() {
    Arguments::command().debug_assert();
}

#[test]
fn no_command_is_the_demo_with_the_demos_options() {
    for line in [
        "tidegate --listen 127.0.0.1:1",
        "tidegate demo --listen 127.0.0.1:1",
    ] {
        let Ok(Command::Demo(demo)) = parse(line) else {
            panic!("{line}")
        };
        assert_eq!(demo.run.listen.unwrap().port(), 1);
    }
    assert!(matches!(parse("tidegate"), Ok(Command::Demo(_))));
}

#[test]
fn serve_takes_a_file_or_an_upstream_or_both() {
    let both = served("tidegate serve --config a.yaml --upstream http://127.0.0.1:9000 --listen [::1]:0");
    assert_eq!(both.config.unwrap().to_str(), Some("a.yaml"));
    assert_eq!(both.upstream.unwrap().to_string(), "http://127.0.0.1:9000");
    assert_eq!(both.run.listen.unwrap().to_string(), "[::1]:0");
    assert!(served("tidegate serve -c a.yaml").upstream.is_none());
    assert!(served("tidegate serve -u http://origin").config.is_none());
}

#[test]
fn serve_without_anything_to_protect_is_wrong() {
    let error = parse("tidegate serve").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MissingRequiredArgument);
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("--upstream"), "{error}");
}

#[test]
fn what_is_not_typed_has_its_default() {
    let run = served("tidegate serve -u http://origin").run;
    assert_eq!(run.listen, None);
    assert_eq!(run.drain, Duration::from_secs(30));
    assert!(matches!(run.log_format, LogFormatArgument::Auto));
}

#[test]
fn every_wrong_value_is_refused_with_its_cure() {
    for (line, cure) in [
        ("tidegate serve -u 127.0.0.1:9000", "http://"),
        ("tidegate serve -u ftp://origin", "https://"),
        ("tidegate serve -u http://origin/api", "no path"),
        ("tidegate serve -u http://", "http://host:port"),
        ("tidegate serve -u http://o --listen 8080", "127.0.0.1:8080"),
        (
            "tidegate serve -u http://o --listen localhost:8080",
            "127.0.0.1:8080",
        ),
        (
            "tidegate serve -u http://o --listen 127.0.0.1:65536",
            "127.0.0.1:8080",
        ),
        ("tidegate serve -u http://o --drain 30", "30s"),
        ("tidegate serve -u http://o --drain=-1s", "30s"),
        ("tidegate serve -u http://o --log-level a=loud", "debug"),
        ("tidegate serve -u http://o --log-format xml", "json"),
        ("tidegate check --format xml a.yaml", "json"),
        ("tidegate check", "FILE"),
        ("tidegate hash-key", "--subject"),
        ("tidegate completions tcsh", "bash"),
        ("tidegate sevre", "serve"),
        ("tidegate --listen 127.0.0.1:1 serve -u http://o", "serve"),
        ("tidegate --upstream http://o", "--upstream"),
    ] {
        let error = parse(line).unwrap_err();
        assert_eq!(error.exit_code(), 2, "{line}");
        assert!(error.to_string().contains(cure), "{line}: {error}");
    }
}

#[test]
fn every_command_has_help_and_the_help_states_the_exit_codes() {
    let mut command = Arguments::command();
    let help = command.render_long_help().to_string();
    assert!(help.contains("Exit codes:"), "{help}");
    for sub in command.get_subcommands() {
        assert!(sub.get_about().is_some(), "{}", sub.get_name());
    }
}
