// Graphile Worker behind the gate, tuned: a local queue of 500 and batched completions.
// Held back by stopping the first runner after the warm-up job and starting a second one, on the same pool, at `go`.
import { Logger, makeWorkerUtils, run } from "graphile-worker";
import pg from "pg";

import { Bench, payload, serve } from "./gate.mjs";

const quiet = new Logger(() => () => {});

class GraphileBench extends Bench {
  async open() {
    this.pgPool = new pg.Pool({ connectionString: this.url, max: 10 });
    this.utils = await makeWorkerUtils({ pgPool: this.pgPool, logger: quiet });
    this.taskList = {
      noop: async () => {},
      stamp: async ({ number }) => this.stamp(number),
    };
  }

  async install() {
    await this.utils.migrate();
  }

  async enqueue(task, number) {
    await this.utils.addJob(task, payload(number));
  }

  async enqueueBatch(jobs) {
    await this.utils.addJobs(Array.from({ length: jobs }, (_, number) => ({ identifier: "noop", payload: payload(number) })));
  }

  async start() {
    return run({
      pgPool: this.pgPool,
      taskList: this.taskList,
      noHandleSignals: true,
      parsedCronItems: [],
      preset: {
        worker: {
          logger: quiet,
          concurrentJobs: 24,
          maxPoolSize: 10,
          localQueue: { size: 500 },
          completeJobBatchDelay: 0,
          failJobBatchDelay: 0,
        },
      },
    });
  }

  async work_once() {
    const runner = await this.start();
    await this.warmed;
    await runner.stop();
  }

  async work() {
    await this.start();
  }
}

await serve(new GraphileBench(...process.argv.slice(2, 4)));
