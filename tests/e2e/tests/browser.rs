//! A real browser on the demo.

use tidegate_e2e::{Browser, Gateway, Watch, until};

#[test]
fn a_browser_plays_with_the_demo_until_it_is_limited() {
    let gateway = Gateway::start(&["demo"]);
    let browser = Browser::start();
    let watch = Watch::start();
    browser.open(&gateway.url("/"));
    assert_eq!(browser.status(), 200);
    assert_eq!(browser.script("return document.title"), "Tidegate demo");

    let number = |id: &str| {
        let text = browser.script(&format!("return document.getElementById('{id}').textContent"));
        text.as_str()?.parse::<u64>().ok()
    };
    let mut sent = 0;
    while number("refused") == Some(0) {
        browser.script("document.getElementById('eleven').click()");
        sent += 11;
        until("all are answered", || {
            (number("passed")? + number("refused")? >= sent).then_some(())
        });
    }
    let passed = number("passed").unwrap();
    let most = 10 + watch.elapsed().as_secs() / 2;
    assert!((9..=most).contains(&passed), "{passed} passed, at most {most}");

    until("the page itself is refused", || {
        browser.open(&gateway.url("/"));
        (browser.status() == 429).then_some(())
    });
    assert!(
        browser.text().contains("rate_limit_exceeded"),
        "{}",
        browser.text()
    );
}
