/// Writes a FIT file message by message, in little endian.
///
/// The writer reuses active definitions. A new one replaces the oldest of the sixteen. All values are accepted: a value
/// out of range becomes the nearest possible one, or invalid for times and positions (see `FITField`).
package struct FITWriter {
    /// A field and its value.
    package struct Value {
        fileprivate enum Content {
            case number(UInt32)
            /// Ends with a zero byte.
            case text([UInt8])
        }

        fileprivate let field: FITField
        fileprivate let content: Content

        /// - Parameter number: in the field's unit (see `FITProfile`); `nil` writes the invalid value.
        package init(_ field: FITField, _ number: Double?) {
            self.field = field
            content = .number(field.stored(number))
        }

        /// Writes a code or a count.
        package init(_ field: FITField, _ integer: Int) {
            self.init(field, Double(integer))
        }

        /// - Parameter text: truncated to the size of a field, between characters.
        package init(_ field: FITField, _ text: String) {
            self.field = field
            content = .text(Array(text.prefix(bytes: FITWriter.textLimit).utf8) + [0])
        }

        fileprivate var size: Int {
            switch content {
            case .number: field.type.size
            case .text(let bytes): bytes.count
            }
        }
    }

    /// The maximum bytes of a text without its end, as readers of such files support it.
    private static let textLimit = 127
    private static let protocolVersion: UInt8 = 0x20
    private static let profileVersion: UInt16 = 21_218
    private static let headerSize = 14
    private static let localTypes = 16

    /// The messages that are not taken yet; first, space for the header.
    private var file = [UInt8](repeating: 0, count: headerSize)
    private var takenCount = 0
    private var checksum = FITChecksum()
    /// The active definitions, without their first byte: the index here is the local type.
    private var definitions: [[UInt8]] = []
    /// The index of the next definition to replace.
    private var oldest = 0
    /// The definition of the current message, kept to avoid an allocation per message.
    private var definition: [UInt8] = []

    package init() {}

    /// Appends a message of the kind `global`.
    package mutating func addMessage(_ global: UInt16, _ values: [Value], developer: [DeveloperValue] = []) {
        definition.removeAll(keepingCapacity: true)
        definition += [0, 0, UInt8(global & 0xFF), UInt8(global >> 8), UInt8(values.count)]
        for value in values {
            definition.append(value.field.number)
            definition.append(UInt8(value.size))
            definition.append(value.field.type.code)
        }
        if !developer.isEmpty {
            definition.append(UInt8(developer.count))
            for value in developer { definition += [value.number, UInt8(value.bytes.count), 0] }
        }
        file.append(local(hasDeveloperFields: !developer.isEmpty))
        for value in values {
            switch value.content {
            case .number(let bits): file.append(littleEndian: bits, size: value.field.type.size)
            case .text(let bytes): file += bytes
            }
        }
        for value in developer { file += value.bytes }
    }

    /// The local type of the current definition. Writes the definition if it is not active.
    private mutating func local(hasDeveloperFields: Bool) -> UInt8 {
        if let known = definitions.firstIndex(of: definition) { return UInt8(known) }
        let place: Int
        if definitions.count < Self.localTypes {
            place = definitions.count
            definitions.append(definition)
        } else {
            place = oldest
            definitions[place] = definition
            oldest = (oldest + 1) % Self.localTypes
        }
        file.append((hasDeveloperFields ? 0x60 : 0x40) | UInt8(place))
        file += definition
        return UInt8(place)
    }

    /// The bytes that are not taken yet.
    package var pendingCount: Int { file.count }

    /// Removes and returns the bytes that were written since the last call. The file begins with space for the header.
    package mutating func take() -> [UInt8] {
        defer {
            takenCount += file.count
            file.removeAll(keepingCapacity: true)
        }
        // A header with its own checksum leaves the checksum of the file at 0, so that the messages alone count.
        checksum.addBytes(takenCount == 0 ? file[Self.headerSize...] : file[...])
        return file
    }

    /// Returns the last bytes of the file, and the header that replaces the file's first bytes.
    package consuming func finish() -> (rest: [UInt8], header: [UInt8]) {
        var rest = take()
        var header: [UInt8] = [UInt8(Self.headerSize), Self.protocolVersion]
        header.append(littleEndian: UInt32(Self.profileVersion), size: 2)
        header.append(littleEndian: UInt32(takenCount - Self.headerSize), size: 4)
        header += ".FIT".utf8
        header.append(littleEndian: UInt32(FITChecksum(header).value), size: 2)
        rest.append(littleEndian: UInt32(checksum.value), size: 2)
        return (rest, header)
    }
}

extension [UInt8] {
    fileprivate mutating func append(littleEndian bits: UInt32, size: Int) {
        for byte in 0..<size { append(UInt8(truncatingIfNeeded: bits >> (8 * byte))) }
    }
}

extension String {
    /// The longest prefix of whole characters that fits.
    fileprivate func prefix(bytes limit: Int) -> Substring {
        var size = 0
        return prefix { character in
            size += character.utf8.count
            return size <= limit && character != "\0"
        }
    }
}
