import { SampleTree, type Question } from "../data/sample_tree";
import type { Profile, Side } from "../data/profile";
import { sandwichFrom, type Sandwich } from "../data/sandwich";
import type { Answer, Answered, Asked, Order } from "../decode/orders";
import ReadingThread from "../decode/worker?worker&inline";
import type { Trees } from "./source";

/** Files that become one profile, in a thread of its own, which keeps a copy of a large one: to answer with call trees takes time. */
export class Reading implements Trees {
  private readonly thread = new ReadingThread();
  private asked: { resolve(answer: Answered): void; reject(error: Error): void } | null = null;
  private broken: Error | null = null;
  private readonly whole: Promise<Profile>;

  /** @param maxBytes of a file, uncompressed */
  constructor(private readonly maxBytes: number, read: (name: string) => void, failed: (message: string) => void) {
    this.whole = new Promise((resolve, reject) => {
      this.thread.onmessage = ({ data }: MessageEvent<Answer>) => {
        if ("profile" in data) resolve(measured(data));
        else if ("failed" in data) failed(data.failed);
        else if ("tree" in data || "sandwich" in data) this.asked?.resolve(data);
        else if ("unanswered" in data) this.asked?.reject(new Error(data.unanswered));
        else read(data.read);
      };
      this.thread.onerror = (event) => {
        this.broken = new Error(`the thread for files failed: ${event.message || "the browser starts none"}`);
        reject(this.broken);
        this.asked?.reject(this.broken);
      };
    });
  }

  /** @param bytes are gone from here afterwards */
  add(bytes: Uint8Array<ArrayBuffer>, name: string, side: Side): void {
    this.order({ bytes, name, side, maxBytes: this.maxBytes }, [bytes.buffer]);
  }

  end(): Promise<Profile> {
    this.order({ end: true });
    return this.whole;
  }

  async sampleTree(question: Question): Promise<SampleTree> {
    const { tree } = await this.ask<{ tree: SampleTree }>({ question }, "call tree");
    return SampleTree.from(tree);
  }

  async sandwich(group: number): Promise<Sandwich> {
    const { sandwich } = await this.ask<{ sandwich: Sandwich }>({ sandwich: group }, "callers");
    return sandwichFrom(sandwich);
  }

  private async ask<Kind>(asked: Asked, measure: string): Promise<Answered & Kind> {
    if (this.broken) throw this.broken;
    this.order(asked);
    const answer = await new Promise<Answered>((resolve, reject) => (this.asked = { resolve, reject }));
    performance.measure(measure, { start: 0, duration: answer.took });
    return answer as Answered & Kind;
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
