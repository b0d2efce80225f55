//! What `answers` means.

use super::gateway::within;
use crate::Answers;
use crate::document::answers::AnswersText;
use crate::document::report::Report;

pub(super) fn answers(text: &AnswersText, report: &mut Report<'_>) -> Answers {
    let jitter = text
        .retry_jitter_percent
        .as_ref()
        .and_then(|text| within(text, 0..=100, report));
    Answers {
        rate_limit: text
            .rate_limit
            .as_ref()
            .map_or_else(Default::default, |text| text.value),
        x_rate_limit: text
            .x_rate_limit
            .as_ref()
            .map_or_else(Default::default, |text| text.value),
        retry_jitter_percent: jitter.unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use tidegate_core::KeyHasher;

    use crate::{Answers, PolicyFile, Problems, RateLimitForm, XRateLimit, compile};

    fn answers(text: &str) -> Result<Answers, Problems> {
        let file = PolicyFile {
            name: "tidegate.yaml",
            text,
        };
        compile(file, &KeyHasher::new([0; 16])).map(|compiled| compiled.config.answers)
    }

    #[test]
    fn every_answer_setting_can_be_written_and_has_a_default() {
        assert_eq!(answers("policies: []").unwrap(), Answers::default());
        let written =
            "answers: { rate_limit: draft-07, x_rate_limit: omit, retry_jitter_percent: 100 }\npolicies: []";
        let expected = Answers {
            rate_limit: RateLimitForm::Draft07,
            x_rate_limit: XRateLimit::Omit,
            retry_jitter_percent: 100,
        };
        assert_eq!(answers(written).unwrap(), expected);
    }

    #[test]
    fn wrong_answer_settings_are_told_all_at_once() {
        let written = "answers: { rate_limit: draft-7, x_rate_limit: iso, retry_jitter_percent: 101, colour: red }\npolicies: []";
        assert_eq!(answers(written).unwrap_err().iter().count(), 4);
    }
}
