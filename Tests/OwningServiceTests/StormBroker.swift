import Bus
import MQTT
import TestSupport
import Workouts

/// The clients of a service, and the broker between them and its replicas.
struct StormBroker<Service: StormService> {
    private let scripts: [StormScript]
    /// The next step of each script.
    private var next: [Int]
    private var model = BrokerModel()

    init(at start: Timestamp) {
        scripts = Service.scripts(at: start)
        next = scripts.map { _ in 0 }
    }

    var shards: Set<Shard> { Set(scripts.compactMap { Service.shard(of: .session($0.key, .state)) }) }

    /// The scripts that are not at their end.
    var open: [Int] { scripts.indices.filter { step($0) != nil } }

    var retained: [MQTTMessage] { model.retained }

    private func step(_ index: Int) -> StormScript.Step? {
        next[index] < scripts[index].steps.count ? scripts[index].steps[next[index]] : nil
    }

    /// Does the next step of a script, or repeats it. Returns the message to the service.
    mutating func play(_ index: Int) -> [MQTTMessage] {
        switch step(index) {
        case .send(_, let message)?, .stream(let message, _, _)?: return [message]
        case .retain(let message)?:
            model.publish(message)
            next[index] += 1
            return [message]
        case nil: return []
        }
    }

    /// Accepts messages of the service. Returns those that its replicas receive.
    mutating func accept(_ sent: [MQTTMessage]) -> [MQTTMessage] {
        var inbound: [MQTTMessage] = []
        for message in sent {
            model.publish(message)
            inbound += Service.answers(to: message, scripts)
            switch Topic(message.topic) {
            case .user(_, .replies)?:
                let reply = try? JSONCoding.decode(Reply.self, from: message.payload)
                for index in scripts.indices {
                    if case .send(let id, _)? = step(index), id == reply?.id { next[index] += 1 }
                }
            // The service is subscribed to its own retained topics.
            case .session?, .user?:
                if message.retain { inbound.append(message) } else { acknowledge(message) }
            case .presence?, .rejected?, .account?, .limited?, nil: break
            }
        }
        return inbound
    }

    private mutating func acknowledge(_ message: MQTTMessage) {
        guard case .next(let number)? = try? Ack([UInt8](message.payload)) else { return }
        for index in scripts.indices {
            if case .stream(_, let ack, let end)? = step(index), ack.name == message.topic, number >= end {
                next[index] += 1
            }
        }
    }
}
