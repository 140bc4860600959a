/// One data message of a FIT file, of a known or unknown kind.
package struct FITMessage: Equatable, Sendable {
    /// A field that an app on the device added. Its bytes are kept unchanged: the file's `field_description` messages
    /// define them. Its number is unrelated to the profile's field of that number.
    package struct DeveloperField: Equatable, Sendable {
        package let developer: UInt8
        package let number: UInt8
        package let bytes: [UInt8]
        /// The byte order of the numbers.
        package var isBigEndian = false
    }

    /// The kind of message, the same in all files: 20 is a record, 18 a session.
    package let global: UInt16
    /// The number of its definition in this part of the file.
    package let local: UInt8
    /// Values by field number; invalid ones are absent. The time of a compressed header is field 253.
    package internal(set) var fields: [UInt8: FITValue]
    /// Developer fields in file order.
    package let developerFields: [DeveloperField]

    /// The field's value in its unit (see `FITProfile`). For an array, the first valid number.
    package func number(_ field: FITField) -> Double? {
        switch fields[field.number] {
        case .number(let raw): field.value(raw)
        case .numbers(let numbers): numbers.lazy.compactMap(\.self).first.map(field.value)
        case .text, .bytes, nil: nil
        }
    }

    /// The values of a field that may be an array, in its unit; invalid elements are `nil`.
    package func numbers(_ field: FITField) -> [Double?] {
        switch fields[field.number] {
        case .number(let raw): [field.value(raw)]
        case .numbers(let numbers): numbers.map { $0.map(field.value) }
        case .text, .bytes, nil: []
        }
    }

    /// The value of a field that holds a code or a count.
    package func integer(_ field: FITField) -> Int? { number(field).flatMap { Int(exactly: $0) } }

    package func text(_ field: FITField) -> String? {
        guard case .text(let text) = fields[field.number] else { return nil }
        return text
    }

    /// Unix seconds of field 253, which every timed message has except `set`: its time is `FITProfile.Set.timestamp`.
    package var timestamp: Double? { number(FITProfile.timestamp) }
}
