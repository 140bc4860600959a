import Foundation
import Synchronization

/// A network link between clients and a broker that loses, repeats and reorders QoS 0 PUBLISH packets in both
/// directions, as MQTT allows. All other packets pass unchanged.
///
/// A connection that breaks on one side breaks on the other.
package final class FaultyLink: Sendable {
    /// The probability of each fault per packet.
    package struct Faults: Sendable {
        package var drop = 0.1
        package var duplicate = 0.1
        package var delay = 0.1

        package init() {}
    }

    private let relay: LoopbackRelay
    private let faults: Faults
    private let state: Mutex<State>

    private struct State {
        var random: SeededRandom
        var packets = 0
    }

    package init(to broker: UInt16, faults: Faults = Faults(), random: SeededRandom) throws {
        self.faults = faults
        state = Mutex(State(random: random))
        relay = try LoopbackRelay(to: broker)
        relay.start { [self] client, broker in
            let answers = DispatchGroup()
            answers.enter()
            Thread { [self] in
                pump(broker, client)
                LoopbackRelay.end([client, broker])
                answers.leave()
            }.start()
            pump(client, broker)
            LoopbackRelay.end([client, broker])
            answers.wait()
        }
    }

    /// The port for clients.
    package var port: UInt16 { relay.port }

    /// The number of QoS 0 PUBLISH packets so far.
    package var packets: Int { state.withLock(\.packets) }

    /// Ends all connections; clients may connect again.
    package func cut() { relay.cut() }

    /// Ends all connections and accepts no more.
    package func close() { relay.close() }

    private func pump(_ from: Int32, _ to: Int32) {
        var received: [UInt8] = []
        var delayed: [(packet: [UInt8], after: Int)] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(from, &buffer, buffer.count, 0)
            guard count > 0 else { return }
            received += buffer[..<count]
            while let length = Self.packetLength(received) {
                let packet = Array(received[..<length])
                received.removeFirst(length)
                var sent = copies(packet, &delayed)
                delayed = delayed.map { ($0.packet, $0.after - 1) }
                sent += delayed.filter { $0.after <= 0 }.map(\.packet)
                delayed.removeAll { $0.after <= 0 }
                for packet in sent where !LoopbackRelay.send(packet[...], to) { return }
            }
        }
    }

    /// Returns the packets to send now in place of this one.
    private func copies(_ packet: [UInt8], _ delayed: inout [(packet: [UInt8], after: Int)]) -> [[UInt8]] {
        guard packet[0] & 0xF6 == 0x30 else { return [packet] }
        let (roll, distance) = state.withLock { state in
            state.packets += 1
            return (Double.random(in: 0..<1, using: &state.random), Int.random(in: 2...6, using: &state.random))
        }
        if roll < faults.drop { return [] }
        if roll < faults.drop + faults.duplicate { return [packet, packet] }
        if roll < faults.drop + faults.duplicate + faults.delay {
            delayed.append((packet, distance))
            return []
        }
        return [packet]
    }

    /// The length of the first packet with its header; `nil` if it is incomplete.
    private static func packetLength(_ bytes: [UInt8]) -> Int? {
        var remaining = 0
        for index in 1...4 {
            guard bytes.count > index else { return nil }
            remaining |= Int(bytes[index] & 0x7F) << (7 * (index - 1))
            guard bytes[index] < 0x80 else { continue }
            let length = index + 1 + remaining
            return bytes.count >= length ? length : nil
        }
        return nil
    }
}
