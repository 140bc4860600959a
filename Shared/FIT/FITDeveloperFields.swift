/// The developer fields that a file describes: what their bytes mean.
struct FITDeveloperFields {
    private struct Key: Hashable {
        let developer: UInt8
        let number: UInt8
    }

    private var descriptions: [Key: (name: String, type: FITBaseType)] = [:]

    init(_ messages: [FITMessage]) {
        typealias Field = FITProfile.FieldDescription
        for message in messages where message.global == Field.global {
            guard let developer = message.integer(Field.developer).flatMap(UInt8.init(exactly:)),
                let number = message.integer(Field.number).flatMap(UInt8.init(exactly:)),
                let type = message.integer(Field.type).flatMap(UInt8.init(exactly:)).flatMap(FITBaseType.init(code:)),
                let name = message.text(Field.name)
            else { continue }
            descriptions[Key(developer: developer, number: number)] = (name, type)
        }
    }

    /// The numbers of a message's developer fields, by name.
    func values(of message: FITMessage) -> [String: [Double]] {
        var values: [String: [Double]] = [:]
        for field in message.developerFields {
            guard let (name, type) = descriptions[Key(developer: field.developer, number: field.number)] else {
                continue
            }
            switch type.value(field.bytes[...], bigEndian: field.isBigEndian) {
            case .number(let number): values[name] = [number]
            case .numbers(let numbers): values[name] = numbers.compactMap(\.self)
            case .text, .bytes, nil: break
            }
        }
        return values
    }
}

extension FITWriter {
    /// A developer field of 32-bit floats and its values: the first `count`; those that are missing are invalid.
    package struct DeveloperValue {
        /// Values of one field: the size of a field is one byte.
        package static let limit = 63

        let number: UInt8
        let bytes: [UInt8]

        package init(_ number: UInt8, _ values: [Double], count: Int) {
            self.number = number
            let count = min(max(1, count), Self.limit)
            let bits = values.prefix(count).map { Float($0).bitPattern }
            bytes = (bits + [UInt32](repeating: .max, count: count - bits.count)).flatMap { bits in
                (0..<4).map { UInt8(truncatingIfNeeded: bits >> (8 * $0)) }
            }
        }
    }

    /// Describes the developer fields that records may have; their numbers are their indexes.
    package mutating func describe(_ fields: [(name: String, units: String)]) {
        guard !fields.isEmpty else { return }
        addMessage(FITProfile.DeveloperDataID.global, [.init(FITProfile.DeveloperDataID.developer, 0)])
        typealias Field = FITProfile.FieldDescription
        for (number, field) in fields.enumerated() {
            addMessage(
                Field.global,
                [
                    .init(Field.developer, 0), .init(Field.number, number),
                    .init(Field.type, Int(FITBaseType.float32.code)), .init(Field.name, field.name),
                    .init(Field.units, field.units),
                ])
        }
    }
}
