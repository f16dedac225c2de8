// pg-boss behind the gate, tuned: batches of 1,000, burst fetching, LISTEN/NOTIFY.
// Held back by taking the workers off their queues after the warm-up job and putting them back at `go`.
import { PgBoss } from "pg-boss";

import { Bench, payload, serve } from "./gate.mjs";

const QUEUES = ["noop", "stamp"];
const TUNED = { batchSize: 1000, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true };

class PgBossBench extends Bench {
  async open() {
    this.boss = new PgBoss({ connectionString: this.url, useListenNotify: true });
    this.boss.on("error", (error) => console.error(error));
    await this.boss.start();
    for (const queue of QUEUES) await this.boss.createQueue(queue, { notify: true });
  }

  async install() {} // start() has installed the schema

  async enqueue(task, number) {
    await this.boss.send(task, payload(number));
  }

  async enqueueBatch(jobs) {
    await this.boss.insert("noop", Array.from({ length: jobs }, (_, number) => ({ data: payload(number) })));
  }

  async work() {
    await this.boss.work("noop", TUNED, async () => {});
    await this.boss.work("stamp", TUNED, async (jobs) => {
      for (const job of jobs) this.stamp(job.data.number);
    });
  }

  async work_once() {
    await this.work();
    await this.warmed;
    for (const queue of QUEUES) await this.boss.offWork(queue, { wait: true });
  }
}

await serve(new PgBossBench(...process.argv.slice(2, 4)));
