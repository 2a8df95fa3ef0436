/** Questions before something is taken away. */
export interface Question {
  title: string;
  text: string;
  yes: string;
  no: string;
  isDangerous: boolean;
  answer: (isYes: boolean) => void;
}

class Asker {
  question = $state<Question | null>(null);

  ask(
    title: string,
    text: string,
    yes: string,
    { no = "Cancel", isDangerous = true } = {},
  ): Promise<boolean> {
    return new Promise((resolve) => {
      const answer = (isYes: boolean) => {
        this.question = null;
        resolve(isYes);
      };
      this.question = { title, text, yes, no, isDangerous, answer };
    });
  }
}

export const asker = new Asker();

/** A secret that is shown once. */
class Reveal {
  shown = $state<{ title: string; text: string; secret: string; close: () => void } | null>(null);

  show(title: string, text: string, secret: string): Promise<void> {
    return new Promise((resolve) => {
      const close = () => {
        this.shown = null;
        resolve();
      };
      this.shown = { title, text, secret, close };
    });
  }
}

export const reveal = new Reveal();
