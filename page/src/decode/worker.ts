import { GrowingProfile, handedOver } from "../data/growing_profile";
import type { Answer, Order } from "../data/reading";
import { decode } from "./decode";

// Reads files one after the other, in a thread of its own: the page goes on meanwhile.
const profile = new GrowingProfile();
const took = { unpack: 0, decode: 0 }; // ms
let turn = Promise.resolve();
self.onmessage = ({ data }: MessageEvent<Order>) => {
  turn = turn.then(() => ("bytes" in data ? add(data) : end()));
};

async function add({ bytes, name, side }: Extract<Order, { bytes: Uint8Array }>): Promise<void> {
  const began = performance.now();
  let unpacked = began;
  try {
    await decode(bytes, name, side, profile, () => (unpacked = performance.now()));
    took.unpack += unpacked - began;
    took.decode += performance.now() - unpacked;
    answer({ read: name });
  } catch (error) {
    answer({ failed: error instanceof Error ? error.message : String(error) });
  }
}

function end(): void {
  const { profile: whole, buffers } = handedOver(profile);
  answer({ profile: whole, took }, buffers);
}

function answer(message: Answer, transfer: Transferable[] = []): void {
  self.postMessage(message, { transfer });
}
