/// One data message of a FIT file, whether anybody knows what it means or not.
package struct FITMessage: Equatable, Sendable {
    /// A field that an app on the device added. Its bytes are kept as they are: what they mean is told by the file's
    /// own `field_description` messages, and its number says nothing about the ordinary field of that number.
    package struct DeveloperField: Equatable, Sendable {
        package let developer: UInt8
        package let number: UInt8
        package let bytes: [UInt8]
    }

    /// What kind of message it is, the same in all files: 20 is a record, 18 a session.
    package let global: UInt16
    /// The number that stands for its definition in this part of the file.
    package let local: UInt8
    /// Values by field number; invalid ones are absent. A timestamp from a compressed header is here as field 253.
    package internal(set) var fields: [UInt8: FITValue]
    /// Developer fields in the order of the file.
    package let developerFields: [DeveloperField]

    /// The field's value in the field's unit (see `FITProfile`). Of an array it is the first number that is present.
    package func number(_ field: FITField) -> Double? {
        switch fields[field.number] {
        case .number(let raw): field.value(raw)
        case .numbers(let numbers): numbers.lazy.compactMap(\.self).first.map(field.value)
        case .text, .bytes, nil: nil
        }
    }

    /// The field's value where it is a code or a count.
    package func integer(_ field: FITField) -> Int? { number(field).flatMap { Int(exactly: $0) } }

    package func text(_ field: FITField) -> String? {
        guard case .text(let text) = fields[field.number] else { return nil }
        return text
    }

    /// Unix seconds of the field 253 that every timed message has. `set` is the exception: its time is
    /// `FITProfile.Set.timestamp`.
    package var timestamp: Double? { number(FITProfile.timestamp) }
}
