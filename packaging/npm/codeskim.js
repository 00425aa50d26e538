#!/usr/bin/env node
// Starts the program of the package for this platform, which npm installs as an optional dependency.
"use strict";
const { spawn } = require("node:child_process");

const name = `codeskim-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/codeskim${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  console.error(`codeskim: there is no program for ${process.platform} ${process.arch} here; install ${name}, or build it with cargo install codeskim.`);
  process.exit(2);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`codeskim: ${program} does not start (${error.message}).`);
  process.exit(2);
});
child.on("exit", (code, signal) => (signal ? process.kill(process.pid, signal) : process.exit(code)));
