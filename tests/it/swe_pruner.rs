//! The published pruner in Candle gives what its own implementation gives. `tests/golden/swe_pruner/make.py` writes the expected figures for
//! a small checkpoint with weights that are drawn from their names, here as there.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};

use codeskim::prune_protocol::Pruner;
use codeskim::skim::Skimmer;
use codeskim::skim::fallback::Fallback;
use codeskim::skim::protocol::{Request, Response};
use codeskim::skim::swe_pruner::{Precision, SwePruner};
use safetensors::tensor::{Dtype, TensorView, serialize_to_file};
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use crate::common::REPOSITORY;

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/swe_pruner");
/// The largest difference allowed between token logits, which are kept in thousandths, and between relevance scores.
const TOKEN_LOGIT: f64 = 1e-3;
const RELEVANCE: f64 = 1e-4;
/// Half of what a logit is rounded to.
const ROUNDING: f64 = 0.0005;

#[derive(serde::Deserialize)]
struct Goldens {
    tensors: BTreeMap<String, BTreeMap<String, Vec<usize>>>,
    cases: Vec<Case>,
}

#[derive(serde::Deserialize)]
struct Case {
    head: String,
    #[serde(rename = "crate")]
    package: Option<String>,
    file: String,
    query: String,
    threshold: f64,
    always_keep_first_frags: bool,
    chunk_overlap_tokens: usize,
    score: f64,
    kept_frags: Vec<(usize, usize)>,
    pruned_code: String,
    origin_token_cnt: usize,
    left_token_cnt: usize,
    model_input_token_cnt: usize,
    error_msg: Option<String>,
    logits: usize,
}

fn goldens() -> Goldens {
    serde_json::from_str(&std::fs::read_to_string(format!("{GOLDEN}/goldens.json")).expect("goldens")).expect("goldens")
}

/// Uniform numbers from a tensor's name: splitmix64 over FNV-1a of it.
fn drawn(name: &str, shape: &[usize]) -> Vec<f32> {
    let seed = name.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3));
    let uniform = |i: usize| {
        let z = seed.wrapping_add((i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    let number = |uniform: f32| match shape {
        [_] if name.ends_with("bias") || name.contains("transitions") => uniform * 0.1,
        [_] => 1.0 + uniform * 0.25,
        _ if name.contains("embed_tokens") => uniform,
        _ => uniform * (6.0 / shape[1] as f32).sqrt(),
    };
    (0..shape.iter().product()).map(uniform).map(number).collect()
}

/// Writes a checkpoint as make.py does.
pub fn write_checkpoint(directory: &Path, head: &str) {
    let goldens = goldens();
    let tensors: Vec<(&String, &Vec<usize>, Vec<u8>)> = goldens.tensors[head]
        .iter()
        .map(|(name, shape)| (name, shape, drawn(name, shape).iter().flat_map(|number| number.to_le_bytes()).collect()))
        .collect();
    let views = tensors.iter().map(|(name, shape, bytes)| (name, TensorView::new(Dtype::F32, (*shape).clone(), bytes).expect("a tensor")));
    serialize_to_file(views, None, &directory.join("model.safetensors")).expect("weights");
    std::fs::copy(format!("{GOLDEN}/tokenizer.json"), directory.join("tokenizer.json")).expect("tokenizer");
    let vocabulary = goldens.tensors[head]["model.backbone.embed_tokens.weight"][0];
    let config = serde_json::json!({
        "model_type": "swepruner", "backbone_model_name_or_path": "./backbone", "compression_head_type": head, "bottleneck": 32,
        "num_fusion_layers": 1, "num_heads": 8, "use_multi_layer_fusion": true, "early_layer_ratio": 0.25, "middle_layer_ratio": 0.5,
    });
    let backbone = serde_json::json!({
        "vocab_size": vocabulary, "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2,
        "head_dim": 16, "intermediate_size": 96, "rope_theta": 1_000_000.0, "rms_norm_eps": 1e-6,
    });
    std::fs::create_dir_all(directory.join("backbone")).expect("a directory");
    std::fs::write(directory.join("config.json"), config.to_string()).expect("config");
    std::fs::write(directory.join("backbone/config.json"), backbone.to_string()).expect("config");
}

/// Where the sources of the crates in Cargo.lock are.
fn packages() -> &'static HashMap<String, PathBuf> {
    static PACKAGES: OnceLock<HashMap<String, PathBuf>> = OnceLock::new();
    PACKAGES.get_or_init(|| {
        let arguments = ["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", "x86_64-unknown-linux-gnu"];
        let output = Command::new(env!("CARGO")).args(arguments).current_dir(REPOSITORY).output().expect("cargo metadata");
        let found: serde_json::Value = serde_json::from_slice(&output.stdout).expect("what cargo says");
        let package = |package: &serde_json::Value| {
            let manifest = PathBuf::from(package["manifest_path"].as_str().expect("a path"));
            (package["name"].as_str().expect("a name").to_owned(), manifest.parent().expect("a directory").to_owned())
        };
        found["packages"].as_array().expect("packages").iter().map(package).collect()
    })
}

/// The text of a case: a file of a crate, or one that make.py makes up.
fn code(case: &Case) -> String {
    let read = |package: &str, file: &str| std::fs::read_to_string(packages()[package].join(file)).expect("a source");
    if let Some(package) = &case.package {
        return read(package, &case.file);
    }
    match case.file.as_str() {
        "crlf" => read("tree-sitter-python", "src/scanner.c").chars().take(6000).collect::<String>().replace('\n', "\r\n"),
        "astral" => (0..60).map(|i| format!("let größe_{i} = \"日本 🦀 {i}\";\n")).collect(),
        "separators" => (0..40).map(|i| format!("a{i} = {i}\u{2028}b\x0cc\u{85}d\x1ce\n\n")).collect(),
        "no newline at the end" => "one\ntwo\n\n\n\nthree ".repeat(30),
        "empty" => String::new(),
        "one long line" => format!("x = [{}]", (0..400).map(|i| i.to_string()).collect::<Vec<_>>().join(", ")),
        other => panic!("make.py does not make {other}"),
    }
}

/// What the service answers, and the logits behind it.
fn answer(pruner: &Pruner, request: &Request) -> (Response, Vec<f64>) {
    let response = pruner.prune(request, &CancellationToken::new()).expect("an answer");
    let logits = response.token_scores.iter().map(|(_, keep)| (keep / (1.0 - keep)).ln()).collect();
    (response, logits)
}

// One test a head, so that they run beside each other.

#[test]
fn answers_are_those_of_the_published_implementation_with_a_crf_head() {
    answers_are_those_of_the_published_implementation("crf");
}

#[test]
fn answers_are_those_of_the_published_implementation_with_an_ffn_head() {
    answers_are_those_of_the_published_implementation("ffn");
}

#[test]
fn answers_are_those_of_the_published_implementation_with_a_simple_head() {
    answers_are_those_of_the_published_implementation("simple");
}

fn answers_are_those_of_the_published_implementation(head: &str) {
    let all: Vec<u8> = std::fs::read(format!("{GOLDEN}/logits.bin")).expect("logits");
    let mut logits = all.chunks_exact(2).map(|two| f64::from(i16::from_le_bytes([two[0], two[1]])) / 1000.0);
    let directory = tempfile::tempdir().expect("a directory");
    write_checkpoint(directory.path(), head);
    let pruner = Pruner::Tokens(SwePruner::open(directory.path(), Precision::F32, true).expect("a pruner").into());
    let (mut worst_logit, mut worst_score, mut cases) = (0.0_f64, 0.0_f64, 0);
    for case in goldens().cases {
        if case.head != head {
            logits.by_ref().take(case.logits).for_each(drop);
            continue;
        }
        let query = if case.query == "Why? *4000" { "Why? ".repeat(4000) } else { case.query.clone() };
        let (threshold, always_keep_first_frags, chunk_overlap_tokens) =
            (case.threshold, case.always_keep_first_frags, case.chunk_overlap_tokens);
        let request = Request { query, code: code(&case), threshold, always_keep_first_frags, chunk_overlap_tokens };
        let (response, ours) = answer(&pruner, &request);
        let what = format!("{} {} {}", case.head, case.package.as_deref().unwrap_or("made up"), case.file);
        assert_eq!(ours.len(), case.logits, "{what}: tokens");
        for (ours, theirs) in ours.iter().zip(logits.by_ref().take(case.logits)) {
            worst_logit = worst_logit.max((ours.clamp(-32.0, 32.0) - theirs).abs() - ROUNDING);
        }
        worst_score = worst_score.max((response.score - case.score).abs());
        let kept: Vec<usize> = case.kept_frags.iter().flat_map(|(from, to)| *from..=*to).collect();
        assert_eq!(response.kept_frags, kept, "{what}: kept lines");
        assert_eq!(hex(&response.pruned_code), case.pruned_code, "{what}: pruned code\n{}", response.pruned_code);
        let counts = (response.origin_token_cnt, response.left_token_cnt, response.model_input_token_cnt);
        assert_eq!(counts, (case.origin_token_cnt, case.left_token_cnt, case.model_input_token_cnt), "{what}: counts");
        assert_eq!(response.error_msg, case.error_msg, "{what}");
        cases += 1;
    }
    println!("{head}: {cases} cases; largest difference of token logits {worst_logit:.1e}, of relevance {worst_score:.1e}");
    assert!(cases > 30 && worst_logit <= TOKEN_LOGIT && worst_score <= RELEVANCE, "{worst_logit} {worst_score}");
}

#[test]
fn until_it_has_loaded_the_embedded_skimmer_answers_and_says_so() {
    let directory = tempfile::tempdir().expect("a directory");
    write_checkpoint(directory.path(), "simple");
    let pruner = SwePruner::open(directory.path(), Precision::F32, false).expect("a pruner");
    let skimmer = Fallback::new(Arc::new(pruner));
    let skim = || skimmer.skim(&["fn a() {\n", "}\n"], "What is a?", &CancellationToken::new()).expect("scores");
    assert_eq!(skim().note.as_deref(), Some("Chosen by the embedded skimmer, because the model is still loading."));
    skimmer.warm_up();
    assert_eq!(skim().note, None);
}

fn hex(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
