import ReadingThread from "../decode/worker?worker&inline";
import type { Profile, Side } from "./profile";

/** To the thread that reads: a file, or that there are no more. */
export type Order = { bytes: Uint8Array<ArrayBuffer>; name: string; side: Side } | { end: true };
/** From it, for each file, and at the end. */
export type Answer = { read: string } | { failed: string } | { profile: Profile; took: Record<string, number> };

/** Files that become one profile, in a thread of its own. */
export class Reading {
  private readonly thread = new ReadingThread();
  private readonly whole: Promise<Profile>;

  constructor(read: (name: string) => void, failed: (message: string) => void) {
    this.whole = new Promise((resolve, reject) => {
      this.thread.onmessage = ({ data }: MessageEvent<Answer>) => {
        if ("profile" in data) resolve(measured(data));
        else if ("failed" in data) failed(data.failed);
        else read(data.read);
      };
      this.thread.onerror = (event) => reject(new Error(`files cannot be read: ${event.message || "the browser starts no thread"}`));
    });
  }

  /** @param bytes are gone from here afterwards */
  add(bytes: Uint8Array<ArrayBuffer>, name: string, side: Side): void {
    this.order({ bytes, name, side }, [bytes.buffer]);
  }

  end(): Promise<Profile> {
    this.order({ end: true });
    return this.whole.finally(() => this.stop());
  }

  stop(): void {
    this.thread.terminate();
  }

  private order(order: Order, transfer: Transferable[] = []): void {
    this.thread.postMessage(order, transfer);
  }
}

/** For whoever measures the page: how long each step took. */
function measured({ profile, took }: Extract<Answer, { profile: Profile }>): Profile {
  for (const [step, duration] of Object.entries(took)) performance.measure(step, { start: 0, duration });
  return profile;
}
