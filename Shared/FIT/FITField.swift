/// A field of a message in the profile: its number and how a stored number becomes one with a unit.
package struct FITField: Sendable {
    package let number: UInt8
    let scale: Double
    let offset: Double

    /// stored = (value + offset) × scale
    init(_ number: UInt8, scale: Double = 1, offset: Double = 0) {
        self.number = number
        self.scale = scale
        self.offset = offset
    }

    /// A time, in Unix seconds.
    static func time(_ number: UInt8) -> FITField { FITField(number, offset: -FITProfile.unixEpoch) }

    /// A latitude or longitude, in degrees.
    static func degrees(_ number: UInt8) -> FITField { FITField(number, scale: 2_147_483_648 / 180) }

    package func value(_ stored: Double) -> Double { stored / scale - offset }
}
