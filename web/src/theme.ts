// Colours live in the style sheet; a canvas must ask for them. The palette is Okabe and Ito's, which readers
// with any colour vision can tell apart, in lighter tints on a dark ground.

/** Names of the style sheet's colours that charts draw with. */
const COLOURS = [
  "ink",
  "muted",
  "line",
  "grid",
  "ground",
  "series-1",
  "series-2",
  "series-3",
  "series-4",
  "series-5",
  "series-6",
  "latency-1",
  "latency-2",
  "latency-3",
  "latency-4",
  "cpu-user",
  "cpu-system",
  "bad",
  "band",
  "band-hold",
  "band-warm-up",
] as const;

export type Colour = (typeof COLOURS)[number];

export type Palette = (colour: Colour) => string;

/** Reads colours as they are now, light or dark; ask again when the theme has changed. */
export function readPalette(root: HTMLElement): Palette {
  const probe = document.createElement("span");
  probe.hidden = true;
  root.append(probe);
  const known = new Map<Colour, string>();
  const resolved = (colour: Colour): string => {
    probe.style.color = `var(--${colour})`;
    return getComputedStyle(probe).color;
  };
  for (const colour of COLOURS) known.set(colour, resolved(colour));
  probe.remove();
  return (colour) => known.get(colour) ?? "currentColor";
}

export type Theme = "light" | "dark";

const STORED = "dyno-theme";

/** The theme in force: the reader's choice, else the system's. */
export function currentTheme(): Theme {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === "light" || chosen === "dark") return chosen;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** Sets a theme and keeps it where the browser lets a file keep anything. */
export function chooseTheme(theme: Theme): void {
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem(STORED, theme);
  } catch {
    // A page from disk may have no storage; the choice then lasts as long as the page.
  }
}

/** Takes up a choice that was kept. */
export function restoreTheme(): void {
  try {
    const kept = localStorage.getItem(STORED);
    if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
  } catch {
    // No storage, no choice.
  }
}

/**
 * Calls back when the system's theme changes, and around printing, which is always in light colours. Returns a
 * function that stops it.
 */
export function onThemeChange(redraw: () => void): () => void {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  let onScreen: string | undefined;
  const before = () => {
    onScreen = root.dataset.theme;
    root.dataset.theme = "light";
    redraw();
  };
  const after = () => {
    if (onScreen === undefined) delete root.dataset.theme;
    else root.dataset.theme = onScreen;
    redraw();
  };
  system.addEventListener("change", redraw);
  addEventListener("beforeprint", before);
  addEventListener("afterprint", after);
  return () => {
    system.removeEventListener("change", redraw);
    removeEventListener("beforeprint", before);
    removeEventListener("afterprint", after);
  };
}
