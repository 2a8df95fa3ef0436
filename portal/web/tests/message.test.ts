import { expect, test } from "vitest";
import { join, split } from "../src/lib/message";

test("texts of a message are a part of the address and come back", () => {
  const texts = { subject: "Größe & more", body: "100 % of it?\nYes = 1+1" };
  const url = join("mailto:ada@example.com", texts);
  expect(url).toBe(
    "mailto:ada@example.com?subject=Gr%C3%B6%C3%9Fe%20%26%20more&body=100%20%25%20of%20it%3F%0AYes%20%3D%201%2B1",
  );
  expect(split(url)).toEqual({ address: "mailto:ada@example.com", texts });
  expect(split("sms:+4930123?body=a%0D%0Ab")).toEqual({ address: "sms:+4930123", texts: { body: "a\nb" } });
  expect(split("+49 30 123")).toEqual({ address: "+49 30 123", texts: {} });
  expect(join("+49 30 123", { text: "" })).toBe("+49 30 123");
});
