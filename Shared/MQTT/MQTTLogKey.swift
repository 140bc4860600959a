import Logging

/// The metadata keys of this module's log messages.
enum MQTTLogKey: String {
    case broker
    case count
    case delay
    case error
    case filter
    case size
    case topic
}

extension Logger {
    subscript(key: MQTTLogKey) -> Logger.MetadataValue? {
        get { self[metadataKey: key.rawValue] }
        set { self[metadataKey: key.rawValue] = newValue }
    }
}

/// Metadata with keys of ``LogKey``.
func metadata(_ pairs: KeyValuePairs<MQTTLogKey, String>) -> Logger.Metadata {
    Logger.Metadata(uniqueKeysWithValues: pairs.map { ($0.key.rawValue, .string($0.value)) })
}
