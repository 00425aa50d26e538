//! The 0.6B pruner at its true shapes with random weights, against the same model in PyTorch: `cargo bench --bench model`.
//!
//! CODESKIM_PYTHON names a Python with torch and transformers (python3 if unset). The weights, 1.3 GB, are written below target/ once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use codeskim::skim::swe_pruner::backbone::Config;
use codeskim::skim::swe_pruner::{OVERLAP, Precision, SwePruner};
use safetensors::tensor::{Dtype, TensorView, serialize_to_file};
use tokio_util::sync::CancellationToken;

const TOKENS: [usize; 2] = [512, 2048];
const RUNS: usize = 3;
const BOTTLENECK: usize = 256;
const C: Config = Config::RERANKER_0_6B;

/// Names and shapes of all tensors.
fn shapes() -> Vec<(String, Vec<usize>)> {
    let (hidden, fused) = (C.hidden_size, 3 * C.hidden_size);
    let (asking, asked) = (C.num_attention_heads * C.head_dim, C.num_key_value_heads * C.head_dim);
    let layer = |i: usize| {
        let parts: [(&str, Vec<usize>); 11] = [
            ("input_layernorm", vec![hidden]),
            ("self_attn.q_proj", vec![asking, hidden]),
            ("self_attn.k_proj", vec![asked, hidden]),
            ("self_attn.v_proj", vec![asked, hidden]),
            ("self_attn.o_proj", vec![hidden, asking]),
            ("self_attn.q_norm", vec![C.head_dim]),
            ("self_attn.k_norm", vec![C.head_dim]),
            ("post_attention_layernorm", vec![hidden]),
            ("mlp.gate_proj", vec![C.intermediate_size, hidden]),
            ("mlp.up_proj", vec![C.intermediate_size, hidden]),
            ("mlp.down_proj", vec![hidden, C.intermediate_size]),
        ];
        parts.map(|(name, shape)| (format!("backbone.layers.{i}.{name}.weight"), shape))
    };
    let head = "compression_head.feature_extractor";
    let rest: [(String, Vec<usize>); 14] = [
        ("backbone.embed_tokens.weight".to_owned(), vec![C.vocab_size, hidden]),
        ("backbone.norm.weight".to_owned(), vec![hidden]),
        ("fusion_layers.0.in_proj_weight".to_owned(), vec![3 * fused, fused]),
        ("fusion_layers.0.in_proj_bias".to_owned(), vec![3 * fused]),
        ("fusion_layers.0.out_proj.weight".to_owned(), vec![fused, fused]),
        ("fusion_layers.0.out_proj.bias".to_owned(), vec![fused]),
        ("fusion_norms.0.weight".to_owned(), vec![fused]),
        ("fusion_norms.0.bias".to_owned(), vec![fused]),
        (format!("{head}.0.weight"), vec![fused]),
        (format!("{head}.0.bias"), vec![fused]),
        (format!("{head}.1.weight"), vec![BOTTLENECK, fused]),
        (format!("{head}.1.bias"), vec![BOTTLENECK]),
        (format!("{head}.4.weight"), vec![2, BOTTLENECK]),
        (format!("{head}.4.bias"), vec![2]),
    ];
    (0..C.num_hidden_layers).flat_map(layer).chain(rest).map(|(name, shape)| (format!("model.{name}"), shape)).collect()
}

/// A checkpoint whose tensors are all the beginning of the same random numbers.
fn checkpoint() -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pruner-0.6b");
    fs::create_dir_all(&directory).expect("a directory");
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/swe_pruner/tokenizer.json");
    fs::copy(golden, directory.join("tokenizer.json")).expect("a tokenizer");
    fs::write(directory.join("config.json"), r#"{"backbone_model_name_or_path": "Qwen/Qwen3-Reranker-0.6B"}"#).expect("config");
    let weights = directory.join("model.safetensors");
    if !weights.exists() {
        let mut state = 1_u64;
        let numbers: Vec<u8> = (0..C.vocab_size * C.hidden_size)
            .flat_map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                half::bf16::from_f32(((state >> 40) as f32 / (1 << 23) as f32 - 1.0) * 0.05).to_le_bytes()
            })
            .collect();
        let views = shapes().into_iter().map(|(name, shape)| {
            let bytes = 2 * shape.iter().product::<usize>();
            (name, TensorView::new(Dtype::BF16, shape, &numbers[..bytes]).expect("a tensor"))
        });
        serialize_to_file(views, None, &weights).expect("weights");
    }
    directory
}

/// Highest memory use of this process so far, in MB.
fn peak() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap_or_default() / 1024
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Seconds a call for a prompt of each length.
fn ours(directory: &Path, precision: Precision) -> Vec<f64> {
    let began = Instant::now();
    let pruner = SwePruner::open(directory, precision, true).expect("a pruner");
    let ask = |words: usize| pruner.score("why?", &"a ".repeat(words), OVERLAP, &CancellationToken::new()).expect("scores");
    ask(1);
    println!("{precision:?}: loaded after {:.1} s", began.elapsed().as_secs_f64());
    let time = |tokens: usize| {
        let fits = |words: &usize| pruner.input_tokens("why?", &"a ".repeat(*words)).expect("a count") <= tokens;
        let words = (1..=tokens).rev().find(fits).expect("a text that is short enough");
        let once = |_| {
            let began = Instant::now();
            ask(words);
            began.elapsed().as_secs_f64()
        };
        median((0..RUNS).map(once).collect())
    };
    TOKENS.into_iter().map(time).collect()
}

fn theirs() -> Vec<f64> {
    let python = std::env::var("CODESKIM_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/model.py");
    let output = Command::new(python).arg(script).args(TOKENS.map(|n| n.to_string())).output().expect("Python starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(said.lines().last().unwrap_or_default()).expect("times")
}

fn main() {
    let directory = checkpoint();
    let mut rows = Vec::new();
    for precision in [Precision::Q8, Precision::F32] {
        rows.push((format!("codeskim {precision:?}"), ours(&directory, precision), peak()));
    }
    let torch = theirs();
    for (name, times, peak) in &rows {
        for ((tokens, time), torch) in TOKENS.iter().zip(times).zip(&torch) {
            println!("{name}, {tokens} tokens: {time:.2} s, {:.2} of PyTorch's {torch:.2} s; peak memory so far {peak} MB", time / torch);
        }
    }
}
