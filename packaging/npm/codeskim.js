#!/usr/bin/env node
// Starts the program of the package for this platform, which npm installs as an optional dependency.
"use strict";
const { spawn } = require("node:child_process");
const { optionalDependencies } = require("./package.json");

const windows = process.platform === "win32";
// Windows on ARM runs the program for x64. On Linux one program serves glibc and musl.
const name = `codeskim-${process.platform}-${windows ? "x64" : process.arch}`;

function fail(sentence) {
  console.error(`codeskim: ${sentence}`);
  process.exit(2);
}

function find() {
  try {
    return require.resolve(`${name}/bin/codeskim${windows ? ".exe" : ""}`);
  } catch {
    if (!(name in optionalDependencies)) fail(`there is no program for ${process.platform} on ${process.arch}; build codeskim from its source.`);
    fail(`the package ${name} is missing; install codeskim again, without --omit=optional.`);
  }
}

const program = find();
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => fail(`${program} does not start (${error.message}).`));

// In a Windows console the program gets Ctrl+C and the like by itself, and kill would end it at once: there the launcher only waits for it.
const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
for (const signal of signals) process.on(signal, () => windows || child.kill(signal));
child.on("exit", (code, signal) => {
  if (!signal) process.exit(code);
  for (const own of signals) process.removeAllListeners(own);
  process.kill(process.pid, signal); // so that whoever waits for this process sees what ended the other
});
