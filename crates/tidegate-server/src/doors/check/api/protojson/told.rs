//! The answer in the JSON of its protocol: what is zero or empty is left out, and bytes are Base64.

use bytes::Bytes;
use data_encoding::BASE64;
use http::header::CONTENT_TYPE;
use http::{Response, StatusCode};
use serde_json::{Map, Value, json};

use super::UNITS;
use crate::doors::check::api::JSON;
use crate::doors::envoy::messages::{Code, DescriptorStatus, RateLimit, RateLimitResponse, Unit};
use crate::doors::envoy::{HeaderValue, Struct, StructValue};
use crate::gateway::ResponseBody;

/// The most that a double tells apart from its neighbours.
const MOST_WHOLE: f64 = 9_007_199_254_740_992.0;

/// The answer that says what was `decided`.
pub(super) fn told(decided: &RateLimitResponse) -> Response<ResponseBody> {
    let status = if decided.overall_code == Code::OverLimit as i32 {
        StatusCode::TOO_MANY_REQUESTS
    } else {
        StatusCode::OK
    };
    let mut response = Response::new(ResponseBody::whole(document(decided).to_string().into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

fn document(decided: &RateLimitResponse) -> Value {
    let fields = decided.response_headers_to_add.iter();
    let mut told = json!({
        "overallCode": code(decided.overall_code),
        "statuses": decided.statuses.iter().map(status_of).collect::<Vec<_>>(),
        "responseHeadersToAdd": fields.map(field).collect::<Vec<_>>(),
    });
    if !decided.raw_body.is_empty() {
        told["rawBody"] = BASE64.encode(&decided.raw_body).into();
    }
    if let Some(metadata) = &decided.dynamic_metadata {
        told["dynamicMetadata"] = members(metadata);
    }
    told
}

fn status_of(status: &DescriptorStatus) -> Value {
    let mut told = json!({ "code": code(status.code) });
    if let Some(limit) = &status.current_limit {
        told["currentLimit"] = limit_of(limit);
    }
    if status.limit_remaining > 0 {
        told["limitRemaining"] = status.limit_remaining.into();
    }
    if let Some(span) = &status.duration_until_reset {
        told["durationUntilReset"] = match span.nanos {
            0 => format!("{}s", span.seconds),
            nanos => format!("{}.{nanos:09}s", span.seconds),
        }
        .into();
    }
    told
}

fn limit_of(limit: &RateLimit) -> Value {
    let mut told = json!({ "name": text(&limit.name), "requestsPerUnit": limit.requests_per_unit });
    let unit = usize::try_from(limit.unit).ok().and_then(|unit| UNITS.get(unit));
    if let Some(unit) = unit.filter(|_| limit.unit != Unit::Unknown as i32) {
        told["unit"] = (*unit).into();
    }
    told
}

fn field(field: &HeaderValue) -> Value {
    if field.raw_value.is_empty() {
        return json!({ "key": text(&field.key), "value": text(&field.value) });
    }
    json!({ "key": text(&field.key), "rawValue": BASE64.encode(&field.raw_value) })
}

fn members(told: &Struct) -> Value {
    let each = told.fields.iter();
    let each = each.map(|entry| (text(&entry.key), entry.value.as_ref().map_or(Value::Null, member)));
    Value::Object(each.collect::<Map<_, _>>())
}

fn member(value: &StructValue) -> Value {
    match (&value.text, value.number) {
        (Some(told), _) => text(told).into(),
        (None, Some(number)) => number_of(number),
        (None, None) => Value::Null,
    }
}

/// A whole number is written as one.
fn number_of(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() < MOST_WHOLE {
        #[expect(clippy::cast_possible_truncation, reason = "it is whole and small enough")]
        return (number as i64).into();
    }
    number.into()
}

fn code(code: i32) -> &'static str {
    if code == Code::OverLimit as i32 {
        "OVER_LIMIT"
    } else {
        "OK"
    }
}

fn text(bytes: &Bytes) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doors::envoy::StructEntry;

    #[test]
    fn everything_of_an_answer_is_told() {
        let bytes = |text: &'static str| Bytes::from_static(text.as_bytes());
        let field = |key, value, raw_value| HeaderValue {
            key: bytes(key),
            value,
            raw_value,
        };
        let number = |number| StructValue {
            number: Some(number),
            text: None,
        };
        let policy = StructValue {
            number: None,
            text: Some(bytes("api")),
        };
        let fields = [
            ("policy", policy),
            ("remaining", number(2.0)),
            ("most", number(18_446_744_073_709_551_615.0)),
        ];
        let metadata = Struct {
            fields: fields
                .map(|(key, value)| StructEntry {
                    key: bytes(key),
                    value: Some(value),
                })
                .into(),
        };
        let decided = RateLimitResponse {
            overall_code: Code::OverLimit as i32,
            statuses: Vec::new(),
            response_headers_to_add: vec![
                field("retry-after", bytes("12"), Bytes::new()),
                field("x-name", Bytes::new(), Bytes::from_static(b"zo\xeb")),
            ],
            raw_body: bytes("{}"),
            dynamic_metadata: Some(metadata),
        };
        let expected = json!({
            "overallCode": "OVER_LIMIT",
            "statuses": [],
            "responseHeadersToAdd": [
                { "key": "retry-after", "value": "12" },
                { "key": "x-name", "rawValue": "em/r" },
            ],
            "rawBody": "e30=",
            "dynamicMetadata": { "policy": "api", "remaining": 2, "most": 18_446_744_073_709_551_615.0 },
        });
        assert_eq!(document(&decided), expected);
        let passed = document(&RateLimitResponse {
            overall_code: Code::Ok as i32,
            ..RateLimitResponse::default()
        });
        assert!(passed.get("rawBody").is_none() && passed.get("dynamicMetadata").is_none());
    }
}
