//! A proxy of `examples` and Tidegate beside it, as its page of the manual starts them.

use tidegate_test_servers::Process;

use crate::curl::Reply;
use crate::example::Example;
use crate::gateway::Gateway;
use crate::page::shown;

/// What the test does in place of the reader, beside starting the proxy.
const APART: [&str; 3] = ["cp ", "tidegate serve", "python3 app.py"];
/// What stands for the application, where the proxy cannot do so itself.
const APPLICATION: &str = "app.py";
/// Where a page begins to speak of an outage.
const STOPPED: &str = "\n## While Tidegate is stopped\n";

/// What a test tells Envoy beside what a page does: several on one machine would hand over to each other, and its log would be long.
pub const ENVOY_ARGUMENTS: &[&str] = &[
    "--disable-hot-restart",
    "--concurrency",
    "1",
    "--log-level",
    "warning",
    "--component-log-level",
    "config:info",
];

/// A proxy that asks Tidegate.
#[derive(Clone, Copy, Debug)]
pub struct Proxy {
    /// The folder of `examples` that it is in.
    pub folder: &'static str,
    /// The ports in the files there. Clients use the first.
    pub ports: &'static [u16],
    /// Tidegate's file.
    pub policies: &'static str,
    /// How the page starts it.
    pub command: &'static str,
    /// Arguments that only a test needs.
    pub more: &'static [&'static str],
    /// It is ready when its log says so.
    pub ready: &'static str,
}

/// Both, and what stands for the application.
#[derive(Debug)]
pub struct Beside {
    proxy: Proxy,
    /// Their folder.
    pub example: Example,
    tidegate: Option<Gateway>,
    _process: Process,
    _application: Option<Process>,
}

impl Proxy {
    /// Starts both.
    pub fn start(self) -> Beside {
        self.start_with(|_| {})
    }

    /// Whether `text` starts both so.
    ///
    /// # Panics
    /// If it does not.
    pub fn is_started_by(self, text: &'static str) {
        let serve = format!("tidegate serve --config {}", self.policies);
        for command in [serve.as_str(), self.command] {
            assert!(
                shown(text).iter().any(|shown| shown.command == command),
                "{command}"
            );
        }
    }

    /// The same with files that `change` has changed.
    pub fn start_with(self, change: impl FnOnce(&Example)) -> Beside {
        let example = Example::copy(self.folder, self.ports);
        change(&example);
        let tidegate = Some(example.tidegate_with(self.policies));
        let mut words = self.command.split(' ');
        let program = words.next().unwrap_or_default();
        let arguments: Vec<&str> = words.chain(self.more.iter().copied()).collect();
        Beside {
            proxy: self,
            _process: example.start(program, &arguments, self.ready),
            _application: example
                .has(APPLICATION)
                .then(|| example.start("python3", &[APPLICATION], "ready")),
            example,
            tidegate,
        }
    }
}

impl Beside {
    /// Runs every command of `page`, and stops Tidegate in between, as the page says.
    ///
    /// # Panics
    /// If one prints something else than the page says, or the page starts something else.
    pub fn follow(mut self, page: &'static str) {
        let (running, stopped) = page.split_once(STOPPED).expect("the page says what happens then");
        let serve = format!("tidegate serve --config {}", self.proxy.policies);
        for command in [serve.as_str(), self.proxy.command] {
            assert!(
                shown(running).iter().any(|shown| shown.command == command),
                "{command}"
            );
        }
        self.play(running);
        self.stop_tidegate();
        self.play(stopped);
    }

    /// Asks the proxy for `path`, with more arguments for curl.
    pub fn get(&self, path: &str, arguments: &[&str]) -> Reply {
        self.example.curl(self.proxy.ports[0], path, arguments)
    }

    /// Runs the commands in `text`, and compares what they print.
    pub fn play(&self, text: &'static str) {
        self.example
            .play_all(text, &[&APART[..], &[self.proxy.command]].concat());
    }

    /// Asks Tidegate to stop, and waits until it has.
    pub fn stop_tidegate(&mut self) {
        self.tidegate.take().map(Gateway::stop);
    }

    /// Starts it again.
    pub fn start_tidegate(&mut self) {
        self.tidegate = Some(self.example.tidegate_with(self.proxy.policies));
    }
}
