import { expect, test } from "vitest";
import type { Analytics, PageDocument } from "../src/lib/api";
import { differences } from "../src/lib/page-words";
import { hoursOfWeek, rowsOf } from "../src/lib/report";
import { rights } from "../src/lib/scopes";

const link = (id: string, title: string) => ({ id, title, type: "link" });
const page = (more: object) =>
  ({
    title: "Ada",
    bio: "",
    links: [link("a", "News"), link("b", "Talks")],
    ...more,
  }) as unknown as PageDocument;

test("bar says what publishing changes", () => {
  const next = page({
    title: "Ada L.",
    links: [link("b", "Talks"), link("a", "New news"), link("c", "Shop")],
  });
  expect(differences(page({}), next)).toEqual([
    "“Shop” is new",
    "“New news” changed",
    "The order of the links changed",
    "The title changed",
  ]);
  expect(differences(page({}), page({ links: [link("b", "Talks")] }))).toEqual(["“News” goes"]);
  expect(differences(page({}), page({}))).toEqual([]);
});

test("rows are by the metric that was chosen, others last", () => {
  const groups = {
    channel: [
      { channel: "qr", views: 3, clicks: 9 },
      { channel: null, views: 5, clicks: 1 },
      { channel: null, other: true, views: 90, clicks: 2 },
    ],
    link: [{ id: "lnk_1", title: "News", url: "https://example.com", deleted: false, clicks: 4, ctr: 0.5 }],
  };
  const report = { groups } as unknown as Analytics;
  expect(rowsOf(report, "channel", "views").map(({ name, value }) => [name, value])).toEqual([
    ["No channel", 5],
    ["QR codes", 3],
    ["All others", 90],
  ]);
  expect(rowsOf(report, "link", "views")).toEqual([
    { key: "lnk_1", name: "News", value: 4, more: "50% CTR", isRest: false },
  ]);
});

test("hours of the week are those of the time zone", () => {
  // A Sunday evening of UTC is a Monday in Berlin.
  const week = hoursOfWeek([{ start: "2026-01-04T23:00:00Z", views: 7 }], "views", "Europe/Berlin");
  expect(week[0]?.[0]).toBe(7);
  expect(week.flat().reduce((sum, views) => sum + views, 0)).toBe(7);
});

test("rights of a secret are told in words", () => {
  expect(rights({ tools: ["qr", "pdf"], biolink: "read", keys: true })).toEqual([
    "Calls QR, PDF",
    "sees pages",
    "manages secrets",
  ]);
  expect(rights({})).toEqual(["May do nothing"]);
});
