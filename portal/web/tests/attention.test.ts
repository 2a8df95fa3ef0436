import { expect, test } from "vitest";
import { concerns, type State } from "../src/lib/attention";

test("shop that cannot be reached is told in words for people", () => {
  const error = "the connection to the shop failed: internal error; reference = abc";
  const source = {
    url: "https://shop.example.com/feed",
    page_id: "pg_1",
    sync: { status: "failing", error },
  };
  const lists = { alerts: [], webhooks: [], domains: [], pages: [], sources: [source] };
  const state = { key: {}, account: null, ...lists } as unknown as State;
  expect(concerns(state, 0).map(({ text }) => text)).toEqual([
    "shop.example.com/feed: The shop could not be reached.",
  ]);
});
