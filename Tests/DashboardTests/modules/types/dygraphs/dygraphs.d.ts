// What chart.js uses of dygraphs 2.2.1.
export default class Dygraph {
  static PLUGINS: object[];
  static Plugins: { Axes: object, Grid: object };
  constructor(element: HTMLElement, data: number[][], options: object);
  updateOptions(options: object): void;
  resize(): void;
  destroy(): void;
  getArea(): { x: number, y: number, w: number, h: number };
  toDomYCoord(value: number): number;
}
