/// How hard a message is delivered. QoS 2 is left out on purpose: after PUBREC its payload lives in the client's memory
/// alone, so a consumer that is killed loses it.
package enum QoS: UInt8, Sendable, Hashable {
    case atMostOnce = 0
    case atLeastOnce = 1
}
