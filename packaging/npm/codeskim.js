#!/usr/bin/env node
// Starts the program of the package for this platform, which npm installs as an optional dependency.
"use strict";
const { spawn } = require("node:child_process");

const name = `codeskim-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/codeskim`);
} catch {
  console.error(`codeskim: there is no program for ${process.platform} ${process.arch} here; install ${name}, or build codeskim from its source.`);
  process.exit(2);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
const passedOn = ["SIGINT", "SIGTERM", "SIGHUP"];
for (const signal of passedOn) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`codeskim: ${program} does not start (${error.message}).`);
  process.exit(2);
});
child.on("exit", (code, signal) => {
  if (!signal) process.exit(code);
  for (const own of passedOn) process.removeAllListeners(own);
  process.kill(process.pid, signal); // so that whoever waits for this process sees what ended the other
});
