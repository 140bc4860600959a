import Foundation
import Workouts

/// A batch of a device that is checked.
struct CheckedBatch {
    let first: Int
    /// The JSON of each item, with sorted keys.
    let items: [Data]
    let asksAck: Bool

    /// `nil` for a payload that the services reject as a whole.
    init?(_ payload: ArraySlice<UInt8>) {
        guard let batch = try? JSONSerialization.jsonObject(with: Data(payload)) as? [String: Any],
            let first = batch["s"] as? Int, first >= 0, let items = batch["x"] as? [[String: Any]],
            (1...1000).contains(items.count)
        else { return nil }
        self.first = first
        self.items = items.compactMap { try? JSONSerialization.data(withJSONObject: $0, options: .sortedKeys) }
        asksAck = batch["a"] as? Int == 1
    }

    var end: Int { first + items.count }
}

/// The items that a device has sent of one stream, and what the played service has stored of them.
struct CheckedStream {
    let name: StreamName
    private var contents: [Data] = []
    /// The number after the last stored item.
    var next = 0
    /// Those since the last acknowledgement.
    var batches = 0
    var isAcknowledgementDue = false

    init(_ name: StreamName) { self.name = name }

    /// The items that have come at least once.
    var count: Int { contents.count }

    /// Checks a batch, and takes its new items. Returns whether it can be stored: it leaves no number out.
    mutating func receive(_ batch: CheckedBatch, _ findings: inout DeviceFindings) -> Bool {
        guard batch.first <= count else {
            findings.note(.numbering, .fail("\(name) goes on with \(batch.first) after \(count) items"))
            return false
        }
        findings.pass(.numbering)
        let known = count
        for (number, item) in zip(batch.first..., batch.items) {
            if number == count {
                contents.append(item)
            } else if contents[number] != item {
                findings.note(.constant, .fail("item \(number) of \(name) came with other values"))
            }
        }
        if count > known { batches += 1 } else { findings.pass(.constant) }
        if count - next > 1000 || batches > 20 {
            findings.note(
                .window, .fail("\(count - next) items of \(name) in \(batches) batches are unacknowledged"))
        }
        return true
    }
}
