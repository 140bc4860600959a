import CMosquitto

extension Connection {
    /// Installs callbacks that capture nothing, recover their connection and only translate.
    func setCallbacks(_ handle: OpaquePointer) {
        mosquitto_connect_v5_callback_set(handle) { _, context, reason, _, properties in
            let connection = Connection.from(context)
            guard reason == 0 else {
                return connection.note(.connectionRefused(connection.connectionRefusal(reason)))
            }
            var receiveMaximum = UInt16.max
            mosquitto_property_read_int16(properties, Int32(MQTT_PROP_RECEIVE_MAXIMUM.rawValue), &receiveMaximum, false)
            connection.note(.accepted(receiveMaximum: Int(receiveMaximum)))
        }
        mosquitto_disconnect_v5_callback_set(handle) { _, context, reason, _ in
            // Codes below 0x80 are the library's own; the failing call returns them too.
            guard let code = UInt8(exactly: reason), code >= 0x80 else { return }
            Connection.from(context).note(
                .disconnected(.connectionLost(String(cString: mosquitto_reason_string(reason)))))
        }
        mosquitto_subscribe_v5_callback_set(handle) { _, context, packet, count, codes, _ in
            let codes = UnsafeBufferPointer(start: codes, count: Int(count)).map { UInt8(clamping: $0) }
            Connection.from(context).note(.granted(packet: packet, codes: codes))
        }
        mosquitto_unsubscribe_v5_callback_set(handle) { _, context, packet, _ in
            Connection.from(context).note(.granted(packet: packet, codes: []))
        }
        mosquitto_publish_v5_callback_set(handle) { _, context, packet, reason, _ in
            Connection.from(context).note(.confirmed(packet: packet, reason: UInt8(clamping: reason)))
        }
        mosquitto_message_callback_set(handle) { _, context, message in
            guard let message else { return }
            Connection.from(context).received(message.pointee)
        }
        mosquitto_log_callback_set(handle) { _, context, level, line in
            guard level & MOSQ_LOG_ERR != 0, let line else { return }
            Connection.from(context).noteLog(String(cString: line))
        }
    }

    private static func from(_ context: UnsafeMutableRawPointer?) -> Connection {
        Unmanaged<Connection>.fromOpaque(context!).takeUnretainedValue()
    }
}
