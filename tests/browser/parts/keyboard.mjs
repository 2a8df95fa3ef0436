// A person who has no mouse: what is wanted is reached with Tab, and has to show that it is.
import assert from "node:assert/strict";

/** Presses of Tab until something is reached, at most. */
const FARTHEST = 150;

/** Uses a page with keys alone. */
export function keyboard(page) {
  let presses = 0;
  const press = async (...keys) => {
    for (const key of keys) await page.keyboard.press(key);
    presses += keys.length;
  };
  /** Goes to it, backwards if `by` is Shift+Tab. */
  const reach = async (locator, by = "Tab") => {
    await locator.first().waitFor();
    const names = [];
    while (!(await locator.evaluateAll((found) => found.includes(document.activeElement)))) {
      assert.ok(names.length < FARTHEST, `${locator} is not reached: ${[...new Set(names)].join(" · ")}`);
      await press(by);
      names.push(await page.evaluate(() => document.activeElement.getAttribute("aria-label") || document.activeElement.id || document.activeElement.innerText?.slice(0, 20)));
    }
    const faults = await page.evaluate(focusFaults);
    assert.deepEqual(faults, [], `${locator} has the focus`);
  };
  return {
    press,
    reach,
    presses: () => presses,
    /** Reaches a button or link and presses it. */
    push: async (locator, key = "Enter", by = "Tab") => {
      await reach(locator, by);
      await press(key);
    },
    /** Reaches a field and replaces what is in it. */
    type: async (locator, text) => {
      await reach(locator);
      await press("Control+a");
      await page.keyboard.type(text);
    },
  };
}

/** What keeps a person from seeing what has the focus: no outline, or something above it. Runs in the page. */
function focusFaults() {
  const own = document.activeElement;
  const outlined = (element) => element && getComputedStyle(element).outlineStyle !== "none" && Number.parseFloat(getComputedStyle(element).outlineWidth) > 0;
  const faults = [];
  // A field may be a part of what is seen of it.
  if (![own, own.parentElement, own.parentElement?.parentElement].some(outlined)) faults.push("nothing shows the focus");
  const seen = [own, own.parentElement].find((element) => element.getBoundingClientRect().width > 4);
  const box = seen.getBoundingClientRect();
  const [x, y] = [box.left + box.width / 2, box.top + Math.min(box.height / 2, 20)];
  const above = document.elementFromPoint(x, y);
  if (!above) faults.push("it is outside of the window");
  else if (!seen.contains(above) && !above.contains(seen)) faults.push(`${above.outerHTML.slice(0, 80)} covers it`);
  return faults;
}
