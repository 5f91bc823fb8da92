
# The plugin for ros2_control, in a workspace that has it.
find_package(pluginlib QUIET)
find_package(transmission_interface QUIET)
if(pluginlib_FOUND AND transmission_interface_FOUND)
  enable_language(CXX)
  add_library(NAME_transmission SHARED src/NAME_transmission.cpp)
  target_compile_features(NAME_transmission PRIVATE cxx_std_17)
  target_link_libraries(NAME_transmission PRIVATE
    NAME pluginlib::pluginlib transmission_interface::transmission_interface)
  install(TARGETS NAME_transmission LIBRARY DESTINATION lib)
  pluginlib_export_plugin_description_file(transmission_interface NAME_plugins.xml)
else()
  message(STATUS "NAME: no plugin, transmission_interface or pluginlib was not found")
endif()
