// Marks and signs: the shapes that tell curves apart where colour does not.

import { el } from "../dom";
import type { Mark } from "../scene";
import type { Colour } from "../theme";
import type { Curve } from "./chart";

/** In a square from -1 to 1. */
const SHAPES: Record<Mark, string> = {
  circle: "M1 0A1 1 0 1 1-1 0A1 1 0 1 1 1 0Z",
  square: "M-.88-.88H.88V.88H-.88Z",
  triangle: "M0-1.1L1.05.8H-1.05Z",
  diamond: "M0-1.25L1.25 0L0 1.25L-1.25 0Z",
  cross: "M-.35-1H.35V-.35H1V.35H.35V1H-.35V.35H-1V-.35H-.35Z",
  ring: "M1 0A1 1 0 1 1-1 0A1 1 0 1 1 1 0ZM.5 0A.5.5 0 1 0-.5 0A.5.5 0 1 0 .5 0Z",
};

const PATHS = new Map<Mark, Path2D>();

/** A mark of `radius` device pixels, filled, with a thin edge of the ground around it. */
export function drawMark(
  ctx: CanvasRenderingContext2D,
  mark: Mark,
  at: { x: number; y: number; radius: number },
  colours: { fill: string; edge: string },
): void {
  const shape = PATHS.get(mark) ?? new Path2D(SHAPES[mark]);
  PATHS.set(mark, shape);
  ctx.save();
  ctx.translate(at.x, at.y);
  ctx.scale(at.radius, at.radius);
  ctx.setLineDash([]);
  ctx.lineWidth = 0.5;
  ctx.strokeStyle = colours.edge;
  ctx.stroke(shape);
  ctx.fillStyle = colours.fill;
  ctx.fill(shape);
  ctx.restore();
}

/** A mark alone, in the lane's colour. */
export function markOf({ colour, mark }: { colour: Colour; mark: Mark }): Element {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "-1.3 -1.3 2.6 2.6");
  svg.setAttribute("class", "mark-alone");
  svg.style.color = `var(--${colour})`;
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", SHAPES[mark]);
  svg.append(path);
  return svg;
}

/** The look of a curve in a legend: its dash and its mark, or a square where it is an area. */
export function signOf(curve: Pick<Curve, "colour" | "dash" | "mark" | "fill" | "tint">): Element {
  if (curve.tint !== undefined || (curve.fill ?? 0) > 0.5) {
    const area = el("i", { class: "sign area", "aria-hidden": "true" });
    area.style.color = `color-mix(in srgb, var(--${curve.colour}) ${(curve.tint ?? 1) * 100}%, var(--ground))`;
    return area;
  }
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 26 10");
  svg.setAttribute("class", "sign");
  svg.setAttribute("aria-hidden", "true");
  svg.style.color = `var(--${curve.colour})`;
  const line = document.createElementNS(space, "path");
  line.setAttribute("d", "M0 5H26");
  line.setAttribute("class", "line");
  if (curve.dash !== undefined && curve.dash.length > 0)
    line.setAttribute("stroke-dasharray", curve.dash.join(" "));
  svg.append(line);
  if (curve.mark !== undefined) {
    const mark = document.createElementNS(space, "path");
    mark.setAttribute("d", SHAPES[curve.mark]);
    mark.setAttribute("transform", "translate(13 5) scale(3.4)");
    svg.append(mark);
  }
  return svg;
}
