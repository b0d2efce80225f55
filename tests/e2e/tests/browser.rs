//! A real browser on the demo.

use tidegate_e2e::{Browser, Gateway, until};

#[test]
fn a_browser_plays_with_the_demo_until_it_is_limited() {
    let gateway = Gateway::start(&["demo"]);
    let browser = Browser::start();
    browser.open(&gateway.url("/"));
    assert_eq!(browser.status(), 200);
    assert_eq!(browser.script("return document.title"), "Tidegate demo");

    browser.script("document.getElementById('eleven').click()");
    let number = |id: &str| {
        let text = browser.script(&format!("return document.getElementById('{id}').textContent"));
        text.as_str()?.parse::<u64>().ok()
    };
    // Loading the page was one request of the burst; a slow machine may see one come back.
    let refused = until("eleven requests are answered", || {
        let (passed, refused) = (number("passed")?, number("refused")?);
        (passed + refused == 11).then_some(refused)
    });
    assert!((1..=2).contains(&refused), "{refused} of 11 refused");

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
