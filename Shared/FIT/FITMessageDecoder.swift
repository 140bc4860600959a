/// Decodes the messages of one file, one at a time.
struct FITMessageDecoder {
    private struct Definition {
        struct Field {
            let number: UInt8
            let size: Int
            /// `nil` for an unknown type.
            let type: FITBaseType?
        }

        struct DeveloperField {
            let number: UInt8
            let size: Int
            let developer: UInt8
        }

        let global: UInt16
        let bigEndian: Bool
        var fields: [Field] = []
        var developerFields: [DeveloperField] = []
    }

    private var cursor: FITCursor
    private var definitions: [UInt8: Definition] = [:]
    /// The latest timestamp as stored, the base of compressed headers.
    private var latest: UInt32?

    init(_ cursor: FITCursor) {
        self.cursor = cursor
    }

    /// Returns the next data message; `nil` at the end.
    mutating func next() throws(FITError) -> FITMessage? {
        while !cursor.isAtEnd {
            let header = try cursor.byte()
            if header & 0x80 != 0 {
                var message = try data(local: header >> 5 & 0x03)
                resolveTime(of: &message, offset: UInt32(header & 0x1F))
                return message
            } else if header & 0x40 != 0 {
                definitions[header & 0x0F] = try definition(withDeveloperFields: header & 0x20 != 0)
            } else {
                let message = try data(local: header & 0x0F)
                if let stored = storedTimestamp(of: message) { latest = stored }
                return message
            }
        }
        return nil
    }

    private mutating func definition(withDeveloperFields: Bool) throws(FITError) -> Definition {
        _ = try cursor.byte()  // reserved
        let architecture = try cursor.byte()
        guard architecture <= 1 else {
            throw .corrupt(offset: cursor.offset - 1, reason: "unknown byte order \(architecture)")
        }
        let bigEndian = architecture == 1
        let global = try cursor.unsigned(2, bigEndian: bigEndian)
        var definition = Definition(global: UInt16(truncatingIfNeeded: global), bigEndian: bigEndian)
        for _ in 0..<(try cursor.byte()) {
            let (number, size, type) = (try cursor.byte(), try cursor.byte(), try cursor.byte())
            definition.fields.append(.init(number: number, size: Int(size), type: FITBaseType(code: type)))
        }
        guard withDeveloperFields else { return definition }
        for _ in 0..<(try cursor.byte()) {
            let (number, size, developer) = (try cursor.byte(), try cursor.byte(), try cursor.byte())
            definition.developerFields.append(.init(number: number, size: Int(size), developer: developer))
        }
        return definition
    }

    private mutating func data(local: UInt8) throws(FITError) -> FITMessage {
        guard let definition = definitions[local] else {
            throw .corrupt(
                offset: cursor.offset - 1, reason: "undefined local message type \(local)")
        }
        var fields: [UInt8: FITValue] = [:]
        for field in definition.fields {
            let bytes = try cursor.take(field.size)
            fields[field.number] =
                if let type = field.type {
                    type.value(bytes, bigEndian: definition.bigEndian)
                } else {
                    FITValue(raw: bytes)
                }
        }
        var developerFields: [FITMessage.DeveloperField] = []
        for field in definition.developerFields {
            let bytes = try cursor.take(field.size)
            developerFields.append(
                .init(
                    developer: field.developer, number: field.number, bytes: Array(bytes),
                    isBigEndian: definition.bigEndian))
        }
        return FITMessage(global: definition.global, local: local, fields: fields, developerFields: developerFields)
    }

    /// Adds the time of a compressed header: the first time at or after the latest one whose low five bits equal
    /// `offset`. Without an earlier timestamp in the file the message has no time.
    private mutating func resolveTime(of message: inout FITMessage, offset: UInt32) {
        if let stored = storedTimestamp(of: message) {
            latest = stored
        } else if let base = latest {
            let resolved = base &+ ((offset &- base) & 0x1F)
            message.fields[FITProfile.timestamp.number] = .number(Double(resolved))
            latest = resolved
        }
    }

    private func storedTimestamp(of message: FITMessage) -> UInt32? {
        guard case .number(let stored) = message.fields[FITProfile.timestamp.number] else { return nil }
        return UInt32(exactly: stored)
    }
}
