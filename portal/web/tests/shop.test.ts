import { expect, test } from "vitest";
import { faultOf } from "../src/lib/shop";

test("fault of a feed says what it means and the setting that cures it", () => {
  const told = (detail: string) => {
    const { text, setting } = faultOf(detail);
    return [text, setting];
  };
  expect(told("its price `12` has no currency; set `currency` of the source")).toEqual([
    "The price “12” has no currency.",
    "currency",
  ]);
  expect(
    told(
      "its price `1.299` could mean two amounts, and the other prices do not show which; set `number_format` of the source to `dot` for 1.299 or to `comma` for 1299",
    ),
  ).toEqual(["The price “1.299” can mean 1.299 or 1299.", "number_format"]);
  expect(told("none of the 3 items can be shown; the first has no title")).toEqual([
    "No product can be shown. Of the first one: It has no name.",
    null,
  ]);
  expect(told("the shop responded with status 404")).toEqual([
    "There is nothing at this address (404).",
    "url",
  ]);
  expect(told("the response is a web page (HTML) and no product feed")[1]).toBe("url");
  expect(
    told("the feed is not in `utf-8`, which its Content-Type names; have the shop export UTF-8, or name it"),
  ).toEqual(["The feed is not in the encoding utf-8.", "encoding"]);
  expect(told("something `new`")).toEqual(["Something “new”.", null]);
});
