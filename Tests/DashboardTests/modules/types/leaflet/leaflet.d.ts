// What map.js uses of Leaflet 1.7.1.
export type Place = [number, number];
interface Size { x: number; y: number }
interface Layer { addTo(to: Map | Group): this }
interface Group extends Layer { clearLayers(): this }
interface Map {
  options: { zoomSnap: number };
  on(types: string, listener: (event: any) => void): this;
  panTo(place: Place): this;
  setView(place: Place, zoom: number): this;
  fitBounds(bounds: Bounds, options: object): this;
  getZoom(): number;
  getSize(): Size;
  getContainer(): HTMLElement;
  invalidateSize(): this;
  latLngToContainerPoint(place: Place): Size;
}
interface Bounds { readonly isBounds: true }
export function map(element: HTMLElement, options: object): Map;
export function tileLayer(url: string, options: object): Layer;
export function layerGroup(): Group;
export interface Line extends Layer { setLatLngs(line: Place[]): this; getElement(): Element | undefined }
export interface Marker extends Layer { setLatLng(place: Place): this; getLatLng(): Place; getElement(): HTMLElement | undefined; remove(): this }
export function polyline(line: Place[], options: object): Line;
export function marker(place: Place, options: object): Marker;
export function divIcon(options: object): object;
export function latLngBounds(places: Place[]): Bounds;
