//! Whether a line is a message of the protocol, and what is answered if it is none: a client that waits for an answer gets one.

use std::fmt;

use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorCode, InitializeRequestParams, JsonRpcMessage, JsonRpcRequest, RequestId};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value, json};

use super::lines;
use crate::error::quote;

/// Messages that are looked at one by one in a batch, at most.
const LARGEST_BATCH: usize = 10_000;
/// Bytes of a message that is not read in which its id is looked for.
const BEGINNING: usize = 1 << 16;
/// Values in a message, at most: one of three bytes takes hundreds in memory.
const MOST_VALUES: usize = 250_000;
/// What is said to each request of a batch.
const BATCH: &str = "A batch is not taken; send one message a line.";
/// Some tools write it at the beginning of a text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// What is done with a line.
pub enum Checked {
    /// It goes on.
    Message(Box<ClientJsonRpcMessage>),
    /// It gets this answer, and goes no further.
    Refused(Value),
    /// Nothing: nobody waits for an answer.
    Dropped,
}

/// Checks a line.
pub fn check(line: &[u8]) -> Checked {
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Checked::Dropped;
    }
    if let Some(refusal) = too_many_values(line) {
        return Checked::Refused(refusal);
    }
    match serde_json::from_slice(line) {
        Ok(Value::Object(message)) => check_object(message),
        Ok(Value::Array(batch)) => Checked::Refused(refused_batch(&batch)),
        Ok(_) => Checked::Refused(error(Value::Null, ErrorCode::INVALID_REQUEST, "A message must be a JSON object.")),
        Err(problem) => Checked::Refused(match id_beyond_limits(line) {
            Some(id) => error(id, ErrorCode::INVALID_REQUEST, &format!("The request is not valid JSON: {problem}.")),
            None => {
                let problem = format!("The message is not valid JSON: {problem}; send one JSON object a line.");
                error(Value::Null, ErrorCode::PARSE_ERROR, &problem)
            }
        }),
    }
}

/// The answer to a message that is too long, of which these are the first bytes.
pub fn too_long(start: &[u8]) -> Value {
    unread(start, &format!("The message is longer than the {} MB that are read at once.", lines::LONGEST >> 20))
}

/// The answer to a message that has more values than are read; none to others.
pub fn too_many_values(message: &[u8]) -> Option<Value> {
    has_many_values(message).then(|| unread(message, &format!("The message has more than the {MOST_VALUES} values that are read at once.")))
}

/// The answer to a message that is not read for what it would take.
fn unread(message: &[u8], problem: &str) -> Value {
    let (mut id, start) = (None, &message[..message.len().min(BEGINNING)]);
    let _ = serde_json::Deserializer::from_slice(start).deserialize_map(EarlyId(&mut id)); // nothing after the id matters
    error(answerable(id.as_ref()), ErrorCode::INVALID_REQUEST, problem)
}

/// Whether a message has so many values in it that they would fill the memory.
fn has_many_values(message: &[u8]) -> bool {
    let (mut in_string, mut is_escaped, mut values) = (false, false, 0);
    for byte in message {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            b',' | b'[' | b'{' if !in_string => values += 1,
            _ => {}
        }
    }
    values > MOST_VALUES
}

/// The answer to a request under an id that waits for an answer already.
pub fn id_in_use(id: &RequestId) -> Value {
    let problem = "The id is in use by a request that is not answered yet; give each request an id of its own.";
    error(id.clone().into_json_value(), ErrorCode::INVALID_REQUEST, problem)
}

fn check_object(message: Map<String, Value>) -> Checked {
    let (has_id, has_method) = (message.contains_key("id"), message.contains_key("method"));
    let id = answerable(message.get("id"));
    let refused = |code, problem: &str| Checked::Refused(error(id.clone(), code, problem));
    let is_response = !has_method && (message.contains_key("result") ^ message.contains_key("error"));
    if !is_response {
        if let Some(problem) = problem_of(&message) {
            return refused(ErrorCode::INVALID_REQUEST, problem);
        }
        if has_id && message["method"] == "initialize" {
            if let Some(problem) = problem_of_initialize(message.get("params")) {
                return refused(ErrorCode::INVALID_PARAMS, &problem);
            }
        } else if has_id && let Some(problem) = problem_of_params(message.get("params")) {
            return refused(ErrorCode::INVALID_REQUEST, problem);
        }
    }
    let is_initialize = has_id && message.get("method").is_some_and(|method| method == "initialize");
    match serde_json::from_value::<ClientJsonRpcMessage>(Value::Object(message)) {
        // As some other request it would only be asked for what is not wrong with it.
        Ok(JsonRpcMessage::Request(JsonRpcRequest { request, .. }))
            if is_initialize && !matches!(request, ClientRequest::InitializeRequest(_)) =>
        {
            refused(ErrorCode::INVALID_PARAMS, "The params are not those of initialize.")
        }
        Ok(message) => Checked::Message(Box::new(message)),
        Err(_) if has_id && has_method => refused(ErrorCode::INVALID_REQUEST, "The message is no request of the protocol."),
        Err(_) => Checked::Dropped,
    }
}

/// What makes an object no request and no notification.
fn problem_of(message: &Map<String, Value>) -> Option<&'static str> {
    let has = |key| message.contains_key(key);
    if has("result") || has("error") {
        return Some("A message must have one of method, result and error, and not several.");
    }
    if message.get("jsonrpc").is_none_or(|version| version != "2.0") {
        return Some("jsonrpc must be \"2.0\".");
    }
    match message.get("method") {
        None => return Some("method is missing."),
        Some(Value::String(_)) => {}
        Some(_) => return Some("method must be a string."),
    }
    let is_id = |id: &Value| RequestId::deserialize(id).is_ok();
    (!message.get("id").is_none_or(is_id)).then_some("id must be a string or an integer of 64 bits.")
}

fn problem_of_params(params: Option<&Value>) -> Option<&'static str> {
    match params {
        Some(params) if !params.is_object() && !params.is_null() => Some("params is no object."),
        Some(params) if params.get("_meta").is_some_and(|meta| !meta.is_object()) => Some("params._meta is no object."),
        _ => None,
    }
}

/// What an `initialize` lacks, by name.
fn problem_of_initialize(params: Option<&Value>) -> Option<String> {
    let params = params.unwrap_or(&Value::Null);
    let mut lacking = Vec::new();
    let mut need = |path, is_right: fn(&Value) -> bool, name| {
        let is_there = params.pointer(path).is_some_and(is_right);
        if !is_there {
            lacking.push(name);
        }
        is_there
    };
    need("/protocolVersion", Value::is_string, "protocolVersion (a string)");
    need("/capabilities", Value::is_object, "capabilities (an object)");
    if need("/clientInfo", Value::is_object, "clientInfo (an object with a name and a version)") {
        need("/clientInfo/name", Value::is_string, "clientInfo.name (a string)");
        need("/clientInfo/version", Value::is_string, "clientInfo.version (a string)");
    }
    if !lacking.is_empty() {
        return Some(format!("initialize needs params with {}.", lacking.join(", ")));
    }
    let error = serde_path_to_error::deserialize::<_, InitializeRequestParams>(params).err()?;
    Some(format!("initialize cannot take {} of its params.", quote(&error.path().to_string())))
}

/// The answer to a batch: one for each request in it, as it was the client's older protocol that allowed it.
fn refused_batch(batch: &[Value]) -> Value {
    if batch.len() > LARGEST_BATCH {
        return error(Value::Null, ErrorCode::INVALID_REQUEST, BATCH);
    }
    let answer = |message: &Value| {
        let has = |key| message.get(key).is_some();
        let (is_notification, is_response) = (has("method") && !has("id"), !has("method") && (has("result") || has("error")));
        (!is_notification && !is_response).then(|| error(answerable(message.get("id")), ErrorCode::INVALID_REQUEST, BATCH))
    };
    let answers: Vec<Value> = batch.iter().filter_map(answer).collect();
    if answers.is_empty() { error(Value::Null, ErrorCode::INVALID_REQUEST, BATCH) } else { answers.into() }
}

fn error(id: Value, code: ErrorCode, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code.0, "message": message } })
}

/// What an answer has for an id: null where there is none that a client could know again.
fn answerable(id: Option<&Value>) -> Value {
    match id {
        Some(Value::Number(number)) if number.as_f64().is_some_and(|number| number.fract() != 0.0) => Value::Null,
        Some(id @ (Value::Number(_) | Value::String(_))) => id.clone(),
        _ => Value::Null,
    }
}

/// The id of a request that is JSON, but for numbers out of range and endless nesting.
fn id_beyond_limits(message: &[u8]) -> Option<Value> {
    #[derive(Deserialize)]
    struct Request {
        id: Value,
        #[serde(rename = "method")]
        _method: IgnoredAny,
    }
    let Request { id, .. } = serde_json::from_slice(message).ok()?;
    Some(answerable(Some(&id))).filter(|id| !id.is_null())
}

/// Reads the id from a message that breaks off.
struct EarlyId<'a>(&'a mut Option<Value>);

impl<'de> Visitor<'de> for EarlyId<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == "id" {
                *self.0 = Some(map.next_value()?);
                return Ok(());
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Id, code and words of the answer to a line that goes no further.
    fn refusal(line: &str) -> Option<(Value, i64, String)> {
        let Checked::Refused(answer) = check(line.as_bytes()) else { return None };
        let error = &answer["error"];
        Some((answer["id"].clone(), error["code"].as_i64().expect("a code"), error["message"].as_str().expect("a text").to_owned()))
    }

    #[test]
    fn what_cannot_be_read_is_answered_under_its_id_if_it_has_one() {
        for (request, problem) in [
            (r#"{"id":7,"method":"x","params":{"a":1e400}}"#.to_owned(), "number out of range"),
            (format!(r#"{{"method":"x","params":{}{},"id":7}}"#, "[".repeat(5000), "]".repeat(5000)), "recursion limit"),
            (r#"{"jsonrpc":"2.0","id":7,"method":"x","params":[1]}"#.to_owned(), "params is no object"),
            (r#"{"jsonrpc":"2.0","id":7,"method":"x","params":{"_meta":5}}"#.to_owned(), "params._meta is no object"),
        ] {
            let (id, code, said) = refusal(&request).expect("a refusal");
            assert_eq!((id, code), (json!(7), -32600), "{said}");
            assert!(said.contains(problem), "{said}");
        }
        for broken in ["{", r#"{"method":"x","params":{"a":1e400}}"#, "\u{1}", "[", r#"{"id":7,"method":"x""#] {
            let (id, code, _) = refusal(broken).expect("a refusal");
            assert_eq!((id, code), (Value::Null, -32700), "{broken}");
        }
    }

    #[test]
    fn messages_go_on_and_what_nobody_waits_for_is_dropped() {
        for fine in [
            r#"{"jsonrpc":"2.0","id":7,"method":"x","params":{}}"#,
            r#"{"jsonrpc":"2.0","id":"a","method":"x"}"#,
            r#"{"jsonrpc":"2.0","id":1.0,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
            "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"x\",\"params\":null}\r\n",
        ] {
            assert!(matches!(check(fine.as_bytes()), Checked::Message(_)), "{fine}");
        }
        for nothing in ["", " \r\n", r#"{"jsonrpc":"2.0","id":{},"result":1}"#] {
            assert!(matches!(check(nothing.as_bytes()), Checked::Dropped), "{nothing}");
        }
    }

    #[test]
    fn the_id_of_a_long_message_is_read_if_it_comes_early() {
        let id = |start: &str| too_long(start.as_bytes())["id"].clone();
        assert_eq!(id(r#"{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":"aaaa"#), json!(7));
        assert_eq!(id(r#"{"params":{"id":7},"id":"b","a":"#), json!("b"));
        assert_eq!(id(r#"{"params":{"id":7,"a":"aaaa"#), Value::Null);
        assert_eq!(id("aaaa"), Value::Null);
        let many =
            |open: &str| format!(r#"{{"jsonrpc":"2.0","id":7,"method":"x","params":{{"a":{open}{}{open}}}}}"#, "[],".repeat(300_000));
        assert_eq!(refusal(&many("")).expect("a refusal").0, json!(7));
        assert!(matches!(check(many("\"").as_bytes()), Checked::Message(_)), "in a string they are none");
    }
}
