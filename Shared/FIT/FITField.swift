/// A field of a message in the profile: its number, its type, and how a stored number becomes one with a unit.
package struct FITField: Sendable {
    package let number: UInt8
    /// The type it is written with. A reader goes by what the file itself declares.
    let type: FITBaseType
    let scale: Double
    let offset: Double
    /// Whether a value beyond the range is written as the nearest that the type can hold. A time or a place is not: it
    /// would be another one.
    let isClamped: Bool

    /// stored = (value + offset) × scale
    init(_ number: UInt8, _ type: FITBaseType, scale: Double = 1, offset: Double = 0, isClamped: Bool = true) {
        self.number = number
        self.type = type
        self.scale = scale
        self.offset = offset
        self.isClamped = isClamped
    }

    /// A time, in Unix seconds.
    static func time(_ number: UInt8) -> FITField {
        FITField(number, .uint32, offset: -FITProfile.unixEpoch, isClamped: false)
    }

    /// A latitude or longitude, in degrees.
    static func degrees(_ number: UInt8) -> FITField {
        FITField(number, .sint32, scale: 2_147_483_648 / 180, isClamped: false)
    }

    package func value(_ stored: Double) -> Double { stored / scale - offset }
}
