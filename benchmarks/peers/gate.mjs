// The Node side of gate.py: the same commands over the same pipe.
import { createInterface } from "node:readline";

export const WARM_UP = -1;
const BATCH = 1000;

export const payload = (number) => ({
  number,
  name: "someone@example.com",
  note: "a payload of about one hundred bytes in size, ok",
});

const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
const nanoseconds = () => Number(process.hrtime.bigint());
const seconds = (since) => (nanoseconds() - since) / 1e9;

export class Bench {
  constructor(url, setting) {
    this.url = url;
    this.setting = setting;
    this.starts = [];
    this.warmed = new Promise((done) => (this.setWarmed = done));
  }

  stamp(number) {
    if (number === WARM_UP) this.setWarmed();
    else this.starts.push([number, nanoseconds()]);
  }

  async warm() {
    await this.enqueue("stamp", WARM_UP);
    await this.work_once();
  }

  async go() {
    await this.work();
  }

  async fill({ jobs }) {
    const started = nanoseconds();
    for (let enqueued = 0; enqueued < jobs; enqueued += BATCH) await this.enqueueBatch(Math.min(BATCH, jobs - enqueued));
    return seconds(started);
  }

  async enqueue_one_by_one({ jobs }) {
    const started = nanoseconds();
    for (let enqueued = 0; enqueued < jobs; enqueued += 1) await this.enqueue("noop", 1);
    return seconds(started);
  }

  async enqueue_apart({ jobs, milliseconds }) {
    const moments = [];
    for (let number = 0; number < jobs; number += 1) {
      moments.push([number, nanoseconds()]);
      await this.enqueue("stamp", number);
      await sleep(milliseconds);
    }
    return moments;
  }

  async started() {
    return this.starts;
  }

  async cpu() {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  }
}

export async function serve(bench) {
  const answer = (result) => process.stdout.write(`${JSON.stringify({ result: result ?? null })}\n`);
  await bench.open();
  answer("ready");
  for await (const line of createInterface({ input: process.stdin })) {
    const { do: command, ...options } = JSON.parse(line);
    answer(await bench[command](options));
  }
  process.exit(0);
}
