# What CI runs, by hand: `just ci`. `just --list` shows the rest.

# everything that must pass before a commit lands
ci: test lint

# the tests, exactly as the README says
test:
    cargo test --workspace

# format, lints, documentation, licences
lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps
    cargo deny check licenses bans sources

# write generated files anew: JSON Schemas, issue list, golden outputs
bless:
    BLESS=1 cargo test --workspace

# the samples batch
samples:
    cargo run --release -- run configs/samples.toml

# the benches print MB/s, units/s and a ratio to a peer measured in the same run
bench name="read":
    cargo bench --bench {{name}}

# twenty minutes of one fuzz target: tags, dxf, svg, pdf, dwg
fuzz target="dxf" seconds="1200":
    cd fuzz && RUSTC_BOOTSTRAP=1 cargo fuzz run {{target}} -- -max_total_time={{seconds}} -rss_limit_mb=4096 -timeout=30
