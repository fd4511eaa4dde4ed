import { sampleTree, type SampleTree, type Question } from "../data/sample_tree";
import { functions } from "../data/functions";
import { GrowingProfile, handedOver } from "../data/growing_profile";
import { keepLatestLevels } from "../data/levels";
import type { Profile } from "../data/profile";
import { sandwich } from "../data/sandwich";
import { decode } from "./decode";
import { isLarge, type Answer, type Order } from "./orders";

// Reads files one after the other, in a thread of its own: the page goes on meanwhile.
let profile = new GrowingProfile();
let kept: Profile | null = null; // a copy, for questions
let unkept: unknown; // why there is none
let asked: Question | null = null; // the last one
let again: SampleTree | null = null; // its tree, once more: the page was given the first one
const took = { unpack: 0, decode: 0, "hand over": 0 }; // ms
let turn = Promise.resolve();
self.onmessage = ({ data }: MessageEvent<Order>) => {
  turn = turn.then(() => obey(data)).catch(reportError); // else nobody hears of it
};

function obey(order: Order): void | Promise<void> {
  if ("bytes" in order) return add(order);
  if ("question" in order) return reply(() => treeOf(order.question));
  if ("sandwich" in order) return reply(() => sandwichOf(order.sandwich));
  end();
}

async function add({ bytes, name, side, maxBytes }: Extract<Order, { bytes: Uint8Array }>): Promise<void> {
  const began = performance.now();
  let unpacked = began;
  try {
    await decode(bytes, name, side, profile, maxBytes, () => (unpacked = performance.now()));
    took.unpack += unpacked - began;
    took.decode += performance.now() - unpacked;
    answer({ read: name });
  } catch (error) {
    answer({ failed: error instanceof Error ? error.message : String(error) });
  }
}

function end(): void {
  const began = performance.now();
  keepLatestLevels(profile);
  const { profile: whole, buffers } = handedOver(profile);
  try {
    if (isLarge(whole)) kept = copied(whole);
  } catch (error) {
    unkept = error; // said when it is asked for: the page makes the trees, then
  }
  profile = new GrowingProfile();
  took["hand over"] = performance.now() - began;
  answer({ profile: whole, took }, buffers);
}

/** Of what is handed over without a copy. */
function copied(whole: Profile): Profile {
  const { parent, frame, size } = whole.stacks;
  const copy = structuredClone({ sampleNode: whole.sampleNode, sampleLabels: whole.sampleLabels, sampleWindow: whole.sampleWindow, values: whole.values, squares: whole.squares });
  return { ...whole, ...copy, stacks: { parent: parent.slice(), frame: frame.slice(), size } }; // not all the room that they had
}

type Reply = [message: { tree: SampleTree } | { sandwich: ReturnType<typeof sandwich> }, buffers: ArrayBuffer[]];

function reply(make: () => Reply): void {
  try {
    const began = performance.now();
    const [message, buffers] = make();
    answer({ ...message, took: performance.now() - began }, buffers);
  } catch (error) {
    answer({ unanswered: error instanceof Error ? error.message : String(error) });
  }
}

function treeOf(question: Question): Reply {
  again = null;
  asked = question;
  const tree = sampleTree(whole(), question);
  functions(tree); // here, where nobody waits for the page
  return [{ tree }, tree.buffers()];
}

function sandwichOf(group: number): Reply {
  again ??= sampleTree(whole(), asked!);
  const both = sandwich(again, group);
  return [{ sandwich: both }, [...both.callers.buffers(), ...both.callees.buffers()]];
}

function whole(): Profile {
  if (!kept) throw new Error(`no room for a copy, so the page itself adds up: ${String(unkept)}`);
  return kept;
}

function answer(message: Answer, transfer: Transferable[] = []): void {
  self.postMessage(message, { transfer });
}
