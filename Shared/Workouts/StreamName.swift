/// Names a stream of a session in `end` and in summaries: `samples/watch-3f9a`.
package struct StreamName: TopicLevel {
    package enum Kind: String, Sendable {
        case samples, locations
    }

    package let kind: Kind
    package let device: Device

    package init(_ kind: Kind, _ device: Device) {
        self.kind = kind
        self.device = device
    }

    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let kind = Kind(rawValue: String(parts[0])), let device = Device(String(parts[1]))
        else {
            return nil
        }
        self.init(kind, device)
    }

    package var description: String { "\(kind.rawValue)/\(device)" }
}

extension StreamName: CodingKeyRepresentable {
    package var codingKey: any CodingKey { NameKey(stringValue: description) }

    package init?(codingKey: some CodingKey) {
        self.init(codingKey.stringValue)
    }
}
