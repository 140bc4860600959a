/// What a sample may carry, in SI units but for heart rate (bpm), energy (kcal), cadence (per minute) and temperature (°C).
package enum Quantity: Int, CaseIterable, Sendable {
    case heartRate, distance, activeEnergy, speed, steps, cadence, power, battery, temperature

    /// The values that are taken; a field outside them is dropped.
    package var range: ClosedRange<Double> {
        switch self {
        case .heartRate: 20...300
        case .distance: 0...10_000
        case .activeEnergy: 0...1_000
        case .speed: 0...60
        case .steps: 0...10_000
        case .cadence: 0...1_000
        case .power: 0...5_000
        case .battery: 0...1
        case .temperature: -60...80
        }
    }

    /// Whether each value counts from the previous item, so that values are summed and not averaged.
    package var isDelta: Bool {
        switch self {
        case .distance, .activeEnergy, .steps: true
        case .heartRate, .speed, .cadence, .power, .battery, .temperature: false
        }
    }
}

/// One item of a sample stream: a time and whatever the device measured.
///
/// An item without a usable time is kept as an empty one, because its number is consumed all the same.
package struct Sample: Sendable {
    /// When it was measured; `nil` for an empty item.
    package var time: Timestamp?
    private var values = [9 of Double](repeating: .nan)

    package init(time: Timestamp? = nil) {
        self.time = time
    }

    /// The value of a quantity; `nil` when the item does not carry it.
    package subscript(quantity: Quantity) -> Double? {
        get {
            let value = values[quantity.rawValue]
            return value.isNaN ? nil : value
        }
        set { values[quantity.rawValue] = newValue ?? .nan }
    }
}

extension Sample: Equatable {
    package static func == (left: Sample, right: Sample) -> Bool {
        left.time == right.time && Quantity.allCases.allSatisfy { left[$0] == right[$0] }
    }
}

/// Names a stream of a session as it stands in `end` and in summaries: `samples/watch-3f9a`.
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
    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    package var codingKey: any CodingKey { Key(stringValue: description) }

    package init?(codingKey: some CodingKey) {
        self.init(codingKey.stringValue)
    }
}

/// One numbered item of a device's stream: a time, and values under their fields.
///
/// An item without a usable time is kept as an empty one, because its number is consumed all the same.
package protocol StreamItem: Equatable, Sendable {
    associatedtype Field: StreamField

    /// When it was measured; `nil` for an empty item.
    var time: Timestamp? { get set }

    init(time: Timestamp?)

    /// A value; `nil` when the item does not carry it.
    subscript(field: Field) -> Double? { get set }
}

/// A value that items of a stream may carry; the raw values count from 0.
package protocol StreamField: CaseIterable, RawRepresentable<Int>, Sendable where AllCases == [Self] {
    /// The values that are taken; one outside them is dropped.
    var range: ClosedRange<Double> { get }
}

extension Quantity: StreamField {}
extension Sample: StreamItem {}
extension LocationField: StreamField {}
extension Location: StreamItem {}
